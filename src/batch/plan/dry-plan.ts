import type * as Plan from './plan-batch';
import type { PlannedBatch } from './planned-batch';

/** Plans exactly as a batch does, but writes nothing. */
export function planDry(options: Omit<Plan.PlanBatchOptions, 'dryRun'>): Promise<PlannedBatch> {
  // Lazy: the parsers for manifests and patterns are loaded with the first plan.
  const { planBatch } = require('./plan-batch') as typeof Plan;
  return planBatch({ ...options, dryRun: true });
}
