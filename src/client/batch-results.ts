import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkflowHandle } from '@temporalio/client';
import { hasEnded, readEndedItems, readPart } from '../batch/runs/read-run';
import { readStartInput } from '../history/start-input';
import type { BatchItemResult, ConversionBatchInput, ConversionBatchResult } from '../shared/batch';
import { isOpen } from '../shared/job-outcome';
import { batchResultsQuery } from '../shared/names';
import type { FileStore } from '../storage/file-store';

const askEveryMs = 1_000;

interface Following {
  files: FileStore;
  result: () => Promise<ConversionBatchResult>;
  signal: AbortSignal | undefined;
}

/** How the items of a batch end, each once; goes on until the batch ends. */
export async function* followResults(
  workflow: WorkflowHandle,
  { files, result, signal }: Following,
): AsyncGenerator<BatchItemResult> {
  const { workflowId, client } = workflow;
  const { folder } = (await readStartInput(client, { workflowId })) as ConversionBatchInput;
  const news = folder === undefined ? newsOfInline(workflow, result) : newsOfRun(files, folder, { result, signal });
  const started = await firstRunOf(workflow);
  const told = new Set<number>();
  for (;;) {
    signal?.throwIfAborted();
    // Asked before the results are read, so that none comes between.
    const now = await firstRunOf(workflow);
    const isOver = now.isOver || now.runId !== started.runId;
    for await (const each of news(isOver)) {
      if (told.has(each.item)) continue;
      told.add(each.item);
      yield each;
    }
    if (isOver) return;
    await sleep(askEveryMs, undefined, { ...(signal && { signal }) });
  }
}

/** The name may be that of a later batch by now. */
async function firstRunOf(workflow: WorkflowHandle): Promise<{ runId: string | undefined; isOver: boolean }> {
  const described = await workflow.describe();
  return { runId: described.raw.workflowExecutionInfo?.firstRunId ?? undefined, isOver: !isOpen(described) };
}

type News = (isOver: boolean) => AsyncIterable<BatchItemResult>;

/** The parts as they are written, then the rows that are in none. */
function newsOfRun(files: FileStore, folder: string, { result, signal }: Omit<Following, 'files'>): News {
  const run = { number: 0, folder };
  let part = 1;
  return async function* (isOver) {
    for (;;) {
      const results = await readPart(files, { run, part, signal });
      if (!results) break;
      yield* results;
      part += 1;
    }
    if (!isOver) return;
    // A batch that failed has no merged results, and says why.
    if (!(await hasEnded(files, run))) await result();
    yield* readEndedItems(files, run, signal);
  };
}

function newsOfInline(workflow: WorkflowHandle, result: () => Promise<ConversionBatchResult>): News {
  return async function* (isOver) {
    if (isOver) yield* (await result()).itemResults ?? [];
    // Without a worker that answers there is no news.
    else yield* await workflow.query<BatchItemResult[]>(batchResultsQuery).catch(() => []);
  };
}
