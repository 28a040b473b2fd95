import type { Client } from '@temporalio/client';
import type { WaitsFor } from '../batch/report/report';
import { writeRunningPage } from '../batch/report/write-report';
import { readBatchWaiting } from '../client/operations/inspect-job';
import { defined } from '../job/defined';
import type { WriteRunningPageInput, WriteRunningPageResult } from '../batch/model/activities';
import type { FileStore } from '../storage/file-store';
import { batchStep } from './activity-attempt';

const answerWithinMs = 6_000;

/** Writes the page of a running batch, with the reason if it waits. */
export function createWriteRunningPage(files: FileStore) {
  return batchStep(async (input: WriteRunningPageInput, writing, client): Promise<WriteRunningPageResult> => {
    const waits = await whyItWaits(client, input.batch);
    // Times only the page: a slow answer from Temporal must not reduce how often it is written.
    const startedAt = performance.now();
    await writeRunningPage(files, { ...input, writing, ...defined({ waits }) });
    return { tookMs: Math.round(performance.now() - startedAt) };
  });
}

/** Undefined if the batch progresses, or if the reason is unknown. */
async function whyItWaits(client: Client, batch: string): Promise<WaitsFor | undefined> {
  const read = () => readBatchWaiting(client, batch);
  const { waiting, since } = await client.withDeadline(Date.now() + answerWithinMs, read).catch(() => ({}) as never);
  return waiting && waiting.reason !== 'conversion' ? defined({ ...waiting, since }) : undefined;
}
