import { rm } from 'node:fs/promises';
import { maxOlderRuns } from './earlier-results';
import { listRuns } from './run-folders';

/** Twice what a planner reads, so that one that has begun to read finds to its end what it saw. */
export const keptRuns = 2 * (maxOlderRuns + 1);

/**
 * Removes the folders of runs that no planner looks at any more, their results and reports with them: a batch that runs every hour would have
 * thousands. What was converted stays known, by the runs that are kept. Not to be called while the batch runs.
 *
 * @returns how many were removed.
 */
export async function removeOldRuns(batchFolder: string): Promise<number> {
  const old = (await listRuns(batchFolder)).slice(keptRuns);
  for (const { folder } of old) await rm(folder, { recursive: true, force: true });
  return old.length;
}
