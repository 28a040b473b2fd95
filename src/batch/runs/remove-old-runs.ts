import { rm } from 'node:fs/promises';
import { maxOlderRuns } from './earlier-results';
import { listRuns } from './run-folders';

/** Twice what a planner reads, so that a run is not removed while a planner reads it. */
export const keptRuns = 2 * (maxOlderRuns + 1);

/**
 * Removes the folders of runs that no planner reads any more, with their results and reports: a batch that runs every
 * hour would collect thousands. The kept runs still know what was converted. Do not call it while the batch runs.
 * @returns how many were removed.
 */
export async function removeOldRuns(batchFolder: string): Promise<number> {
  const old = (await listRuns(batchFolder)).slice(keptRuns);
  for (const { folder } of old) await rm(folder, { recursive: true, force: true });
  return old.length;
}
