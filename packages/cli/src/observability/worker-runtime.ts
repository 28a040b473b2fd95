import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { IllegalStateError, type LogMetadata } from '@temporalio/common';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { aliveWorkers, countOpenJobs, openStatuses } from 'temporal-file-conversion/client';
import { jobFailedMessage, workerMetrics } from 'temporal-file-conversion/worker';
import type { Log, LogFields, LoggedError, LogLevel } from 'temporal-file-conversion/messages';
import { z } from 'zod';
import { CommandError } from '../command-error';

/** Buckets range from a loopback request to a job that waits a week for vCredits. */
const requestBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const phaseBuckets = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 3_600, 21_600, 86_400, 604_800];
const waitBuckets = [0.001, 0.01, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 3_600, 86_400];

interface WorkerRuntimeOptions {
  log: Log;
  level: LogLevel;
  metricsAddress: string | undefined;
}

/** Must run before any other use of the SDK: a process has one runtime. An existing one stays, as when a start is retried. */
export function installWorkerRuntime({ log, level, metricsAddress }: WorkerRuntimeOptions): void {
  // Below this level the native part logs the data that it processes.
  const core = level === 'debug' || level === 'trace' ? 'INFO' : 'WARN';
  try {
    Runtime.install({
      // The command handles signals: a worker drains when it is closed.
      shutdownSignals: [],
      // Frequent, so that a killed worker is soon known to be gone.
      workerHeartbeatInterval: '10 s',
      logger: createTemporalLogger(log),
      telemetryOptions: {
        logging: { filter: { core, other: 'ERROR' }, forward: {} },
        ...(metricsAddress !== undefined && { metrics: prometheusAt(metricsAddress) }),
      },
    });
  } catch (error) {
    if (error instanceof IllegalStateError) return;
    // Errors of the native part have only a message.
    const reason = error instanceof Error ? error.message : String(error);
    if (metricsAddress === undefined) throw error;
    const problem = `The worker's metrics can't be served at ${metricsAddress}: ${reason}. Give this worker another address (FILECONV_WORKER_METRICS_ADDRESS), or leave worker.metrics_address out.`;
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
/** Number of workers that report the count. More than one, because one may be dying, or serve no metrics. */
const counters = 3;

const none = { running: 0, parked: 0 };

interface WatchOptions {
  client: Client;
  taskQueue: string;
  identity: string;
  apps: readonly string[];
  signal: AbortSignal;
}

/**
 * Keeps a gauge of open jobs as the server counts them, because a worker knows only those that it worked on recently.
 * If the server does not answer, the gauge keeps its value; without the search attributes there is no gauge. Only the first few
 * workers of a task queue, by identity, count; one that no longer does reports 0.
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

/**
 * Logs messages of the Temporal SDK, workflows and activities. Keeps only ids, numbers and errors of their fields: at level
 * `trace` the SDK also logs whole activations with the payloads of jobs.
 */
export function createTemporalLogger(write: Log): DefaultLogger {
  /** Runs that logged their own failure, in more detail than the SDK will. */
  const loggedRuns = new Set<unknown>();
  return new DefaultLogger('TRACE', ({ level, message, timestampNanos, meta = {} }) => {
    const { runId } = meta;
    if (message === jobFailedMessage) loggedRuns.add(runId);
    const isLogged = message === 'Workflow failed' && loggedRuns.delete(runId);
    write(message, {
      // The event's time, because the SDK delays lines to sort them.
      time: new Date(Number(timestampNanos / 1_000_000n)).toISOString(),
      ...fieldsOf(meta),
      level: isLogged ? 'debug' : (level.toLowerCase() as Lowercase<typeof level>),
    });
  });
}

/** `taskToken` is a secret: its holder may complete the activity. */
const dropped = new Set(['taskToken', 'isLocal']);

function fieldsOf(meta: LogMetadata): LogFields {
  const fields: Record<string, LogFields[string]> = {};
  for (const [key, value] of Object.entries(meta)) {
    if (dropped.has(key)) continue;
    const name = key === 'workflowRunId' ? 'runId' : key;
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') fields[name] = value;
    else if (typeof value === 'bigint') fields[name] = String(value);
  }
  const error: unknown = meta['error'] ?? meta['err'];
  if (error === undefined) return fields;
  const { type, details } = applicationFailureOf(error) ?? {};
  const isExpected = typeof type === 'string' && !['', 'UNEXPECTED', 'Error'].includes(type);
  const first: unknown = Array.isArray(details) ? details[0] : undefined;
  return {
    ...fields,
    ...(isExpected && { code: type }),
    ...detailsSchema.safeParse(first).data,
    error: toLoggedError(error, { hasStack: !isExpected }),
  };
}

const deepestCause = 5;
const detailsSchema = z.object({ httpStatus: z.number(), endpoint: z.string(), taskId: z.string() }).partial();

/** Properties that an error may have, whatever its class or package copy. */
interface ErrorParts {
  name?: unknown;
  message?: unknown;
  stack?: unknown;
  cause?: unknown;
  /** Code of an `ApplicationFailure`. */
  type?: unknown;
  details?: unknown;
}

/** Names and messages of an error and its causes. Only unexpected errors get a stack: a failure with a code explains itself. */
function toLoggedError(error: unknown, { hasStack = false, depth = 0 } = {}): LoggedError {
  if (typeof error !== 'object' || error === null) return { type: typeof error, message: String(error) };
  const { name, message, stack, cause, type }: ErrorParts = error;
  const told = typeof message === 'string' ? message : '';
  const inner = cause === undefined || depth === deepestCause ? undefined : toLoggedError(cause, { depth: depth + 1 });
  return {
    type: textOf(type) ?? textOf(name) ?? 'Error',
    message: told,
    ...(hasStack && typeof stack === 'string' && { stack }),
    ...(inner && inner.message !== told && { cause: inner }),
  };
}

/** The outermost one. Matched by name, because a failure from the workflow sandbox has another copy of the class. */
function applicationFailureOf(error: unknown, depth = 0): ErrorParts | undefined {
  if (typeof error !== 'object' || error === null || depth > deepestCause) return undefined;
  const parts: ErrorParts = error;
  return parts.name === 'ApplicationFailure' ? parts : applicationFailureOf(parts.cause, depth + 1);
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
