import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { MetricMeter } from '@temporalio/common';
import { countOpenJobs, openStatuses } from 'temporal-file-conversion/internal/client/count-jobs';
import { workerMetrics } from 'temporal-file-conversion/internal/shared/metrics';

const intervalMs = 15_000;

interface WatchOptions {
  client: Client;
  meter: MetricMeter;
  taskQueue: string;
  /** App profiles, which the numbers are told for. */
  apps: readonly string[];
  signal: AbortSignal;
}

/**
 * Keeps the number of jobs that are not over in a gauge, as the server counts them: a worker knows only of those that it has just worked on. While the
 * server can't tell, the gauge stays as it is; without the search attributes there is none.
 */
export async function watchJobs({ client, meter, taskQueue, apps, signal }: WatchOptions): Promise<void> {
  const { name, description } = workerMetrics.jobs;
  const { namespace } = client.options;
  const gauge = meter.createGauge(name, 'int', undefined, description);
  while (!signal.aborted) {
    for (const app of apps) {
      const counts = await countOpenJobs(client, { app, taskQueue }).catch(() => undefined);
      for (const status of counts ? openStatuses : []) {
        gauge.set(counts?.[status] ?? 0, { namespace, taskQueue, app, status });
      }
    }
    await sleep(intervalMs, undefined, { signal, ref: false }).catch(() => undefined);
  }
}
