import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Client } from '@temporalio/client';
import { runFiles } from '../../src/batch/run-files';
import type { BatchItem } from '../../src/batch/model/types';

/** What a planner would have written. Default: files that nobody reads. */
export async function writeManifest(
  folder: string,
  count: number,
  rowOf = (item: number): Omit<BatchItem, 'item'> => ({
    source: `file:///in/${item}.md`,
    output: 'pdf',
    destination: `file:///out/${item}.pdf`,
  }),
): Promise<void> {
  await mkdir(folder, { recursive: true });
  const rows = Array.from({ length: count }, (_, index): BatchItem => ({ item: index + 1, ...rowOf(index + 1) }));
  await writeFile(path.join(folder, runFiles.manifest), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
}

/** The runs by which a workflow continued as new, first to last. */
export async function* runsOf(temporal: Client, workflowId: string) {
  const newest = await temporal.workflow.getHandle(workflowId).describe();
  let runId = newest.raw.workflowExecutionInfo?.firstRunId ?? undefined;
  while (runId !== undefined) {
    const handle = temporal.workflow.getHandle(workflowId, runId);
    const { historySize: bytes = 0 } = await handle.describe();
    const events = (await handle.fetchHistory()).events ?? [];
    yield { events, bytes };
    runId = events.at(-1)?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId ?? undefined;
  }
}
