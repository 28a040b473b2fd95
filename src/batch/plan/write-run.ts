import type { LeftOutRow } from '../runs/left-out';
import type { BatchRun } from '../runs/run-folders';
import { PlanCounts, type SettledRow } from './plan-counts';
import { RunManifest } from './run-manifest';

/**
 * Counts the rows of a plan, and writes them down as a new run of the batch when there is anything to do.
 *
 * @param options.canRun asked for the last time when all rows have come.
 * @param options.leftOut asked then: what earlier runs left open and these rows don't take up.
 */
export async function writeRun(
  rows: AsyncIterable<SettledRow>,
  { batchFolder, canRun, leftOut }: { batchFolder: string; canRun: () => boolean; leftOut: () => Iterable<LeftOutRow> },
): Promise<{ run?: BatchRun; counts: PlanCounts }> {
  const counts = new PlanCounts();
  let manifest: RunManifest | undefined;
  let run: BatchRun | undefined;
  try {
    for await (const row of rows) {
      counts.add(row);
      // Whatever is wrong with the rows is known before the first of them comes.
      if (canRun()) manifest ??= await RunManifest.create(batchFolder);
      await manifest?.write({ item: counts.rows, ...row.item });
    }
    if (manifest && counts.todo > 0 && canRun()) run = await manifest.commit(leftOut());
  } finally {
    if (!run) await manifest?.discard();
  }
  return { ...(run && { run }), counts };
}
