import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { Runtime } from '@temporalio/worker';
import { countOpenJobs, openStatuses } from 'temporal-file-conversion/internal/client/operations/count-jobs';
import { aliveWorkers } from 'temporal-file-conversion/internal/client/operations/task-queue-workers';
import type { Log, LogLevel } from 'temporal-file-conversion/internal/shared/log';
import { workerMetrics } from 'temporal-file-conversion/internal/shared/metrics';
import { CommandError } from '../command-error';
import { createTemporalLogger } from './temporal-logger';

/** From a request on loopback to a job that waits a week for vCredits. */
const requestBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const phaseBuckets = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 3_600, 21_600, 86_400, 604_800];
const waitBuckets = [0.001, 0.01, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 3_600, 86_400];

interface WorkerRuntimeOptions {
  log: Log;
  level: LogLevel;
  /** Default: nowhere. */
  metricsAddress: string | undefined;
}

/**
 * Installs the Temporal runtime of this process: it writes to `log` and serves its metrics and ours at `metricsAddress`
 * (`/metrics`). Call it once, before anything else of the SDK is used.
 */
export function installWorkerRuntime({ log, level, metricsAddress }: WorkerRuntimeOptions): void {
  // Below this level the native part logs what it processes, not what it does.
  const core = level === 'debug' || level === 'trace' ? 'INFO' : 'WARN';
  try {
    Runtime.install({
      logger: createTemporalLogger(log),
      telemetryOptions: {
        logging: { filter: { core, other: 'ERROR' }, forward: {} },
        ...(metricsAddress !== undefined && { metrics: prometheusAt(metricsAddress) }),
      },
    });
  } catch (error) {
    // The native part throws errors with nothing but a message.
    const reason = error instanceof Error ? error.message : String(error);
    if (metricsAddress === undefined) throw error;
    const problem = `The worker's metrics can't be told at ${metricsAddress}: ${reason}. Give this worker another address (FILECONV_WORKER_METRICS_ADDRESS), or leave worker.metrics_address out.`;
    throw new CommandError('SERVICE_UNUSABLE', [problem], { cause: error });
  }
}

function prometheusAt(bindAddress: string) {
  return {
    prometheus: {
      bindAddress,
      histogramBucketOverrides: {
        [workerMetrics.requestSeconds.name]: requestBuckets,
        [workerMetrics.jobPhase.name]: phaseBuckets,
        [workerMetrics.rateLimitWait.name]: waitBuckets,
      },
    },
  };
}

const intervalMs = 15_000;
/** More than one, because one may be dying, or serve no metrics. */
const counters = 3;

const none = { running: 0, awaitingCredits: 0 };

interface WatchOptions {
  client: Client;
  taskQueue: string;
  /** This worker's. */
  identity: string;
  apps: readonly string[];
  signal: AbortSignal;
}

/**
 * Keeps the number of open jobs in a gauge, as the server counts them: a worker knows only those that it has just worked on.
 * While the server can't tell, the gauge keeps its value; without the search attributes there is no gauge. Of the workers on a task
 * queue the first few by identity count; one that no longer does tells 0.
 */
export async function watchJobs({ client, taskQueue, identity, apps, signal }: WatchOptions): Promise<void> {
  const { name, description } = workerMetrics.jobs;
  const { namespace } = client.options;
  const gauge = Runtime.instance().metricMeter.createGauge(name, 'int', undefined, description);
  const told = new Set<string>();
  while (!signal.aborted) {
    const before = (await aliveWorkers(client, taskQueue).catch(() => [])).filter((other) => other < identity);
    const counts = before.length < counters;
    for (const app of counts ? apps : told) {
      const jobs = counts ? await countOpenJobs(client, { app, taskQueue }).catch(() => undefined) : none;
      if (!jobs) continue;
      for (const status of openStatuses) gauge.set(jobs[status], { namespace, taskQueue, app, status });
      told.add(app);
    }
    await sleep(intervalMs, undefined, { signal, ref: false }).catch(() => undefined);
  }
}
