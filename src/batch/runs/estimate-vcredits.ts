import { readEndedItems } from './read-run';
import { listRuns } from './run-folders';

/** Estimated vCredits for so many files, by the average of the latest run with results; undefined if there is none. */
export async function estimateVcredits(batchFolder: string, files: number): Promise<number | undefined> {
  for (const run of await listRuns(batchFolder)) {
    let paid = 0;
    let converted = 0;
    for await (const { status, vcredits } of readEndedItems(run)) {
      if (status !== 'succeeded' || vcredits === undefined) continue;
      paid += vcredits;
      converted += 1;
    }
    if (converted > 0) return Math.round((paid / converted) * files);
  }
  return undefined;
}
