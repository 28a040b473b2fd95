import type { Client } from '@temporalio/client';
import { reportPage, type WaitsFor } from '../batch/report/report';
import { writeBatchReport, writeRunningPage } from '../batch/report/write-report';
import { readBatchWaiting } from '../client/operations/inspect-job';
import { defined } from '../job/defined';
import type { WriteBatchReportInput, WriteBatchReportResult } from '../batch/model/activities';
import type { FileStore } from '../storage/file-store';
import { batchStep } from './activity-attempt';

const answerWithinMs = 6_000;

/** The whole report of a batch that has ended, and the page of one that runs. */
export function createWriteReport(files: FileStore) {
  return batchStep(async (input: WriteBatchReportInput, writing, client): Promise<WriteBatchReportResult> => {
    const { state, ...rest } = input;
    const waits = 'durationMs' in state ? undefined : await whyItWaits(client, input.batch);
    // Times the page alone: it is not written less often because Temporal is slow to answer.
    const startedAt = performance.now();
    if ('durationMs' in state) await writeBatchReport(files, { ...rest, state, writing });
    else {
      await writeRunningPage(files, { ...rest, state, writing, ...defined({ waits }) });
    }
    return { report: reportPage(input.folder), tookMs: Math.round(performance.now() - startedAt) };
  });
}

/** Undefined: it progresses, or nobody knows. */
async function whyItWaits(client: Client, batch: string): Promise<WaitsFor | undefined> {
  const read = () => readBatchWaiting(client, batch);
  const { waiting, since } = await client.withDeadline(Date.now() + answerWithinMs, read).catch(() => ({}) as never);
  return waiting && waiting.reason !== 'conversion' ? defined({ ...waiting, since }) : undefined;
}
