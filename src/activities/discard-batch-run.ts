import { fileURLToPath } from 'node:url';
import { discardRun } from '../batch/runs/run-folders';
import type { DiscardBatchRunInput } from '../shared/sweep';
import { runBatchStep } from './batch-step';

/** Removes a run that was planned and could not be started: it would be taken for one that did nothing. Repeat-safe. */
export function createDiscardBatchRun() {
  return ({ folder }: DiscardBatchRunInput): Promise<void> => runBatchStep(() => discardRun(fileURLToPath(folder)));
}
