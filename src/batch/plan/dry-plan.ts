import type * as Plan from './plan-batch';
import type { PlannedBatch } from './planned-batch';

/** What a batch would do, found as the batch finds it; nothing is written. */
export function planDry(options: Omit<Plan.PlanBatchOptions, 'dryRun'>): Promise<PlannedBatch> {
  // What reads manifests and patterns is loaded for the first plan.
  const { planBatch } = require('./plan-batch') as typeof Plan;
  return planBatch({ ...options, dryRun: true });
}
