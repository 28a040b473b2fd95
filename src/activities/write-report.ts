import type { Client } from '@temporalio/client';
import { reportPage, type WaitsFor } from '../batch/report/report';
import { writeBatchReport, writeRunningPage } from '../batch/report/write-report';
import { readBatchWaiting } from '../client/operations/inspect-job';
import { defined } from '../job/defined';
import type { WriteBatchReportInput, WriteBatchReportResult } from '../batch/model/activities';
import type { FileStore } from '../storage/file-store';
import { batchStep } from './activity-attempt';

const answerWithinMs = 6_000;

/** Writes the whole report of a finished batch, or the page of a running one. */
export function createWriteReport(files: FileStore) {
  return batchStep(async (input: WriteBatchReportInput, writing, client): Promise<WriteBatchReportResult> => {
    const { state, ...rest } = input;
    const waits = 'durationMs' in state ? undefined : await whyItWaits(client, input.batch);
    // Times only the page: a slow answer from Temporal must not reduce how often it is written.
    const startedAt = performance.now();
    if ('durationMs' in state) await writeBatchReport(files, { ...rest, state, writing });
    else {
      await writeRunningPage(files, { ...rest, state, writing, ...defined({ waits }) });
    }
    return { report: reportPage(input.folder), tookMs: Math.round(performance.now() - startedAt) };
  });
}

/** Undefined if the batch progresses, or if the reason is unknown. */
async function whyItWaits(client: Client, batch: string): Promise<WaitsFor | undefined> {
  const read = () => readBatchWaiting(client, batch);
  const { waiting, since } = await client.withDeadline(Date.now() + answerWithinMs, read).catch(() => ({}) as never);
  return waiting && waiting.reason !== 'conversion' ? defined({ ...waiting, since }) : undefined;
}
