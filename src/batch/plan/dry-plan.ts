import type { BatchPlan } from '../../shared/batch';
import type * as Plan from './plan-batch';
import type { PlannedBatch } from './planned-batch';

type DryOptions = Pick<Plan.PlanBatchOptions, 'files' | 'stdin' | 'ask' | 'onUnknownOutcome' | 'again' | 'signal'>;

/** What a batch would do, found as the batch finds it; nothing is written. */
export function planDry(
  plan: BatchPlan & Pick<Plan.PlanBatchOptions, 'what'>,
  rules: DryOptions,
): Promise<PlannedBatch> {
  // What reads manifests and patterns is loaded for the first plan.
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- import() takes the name of the built file, which tests of the sources lack
  const { planBatch, planOptions } = require('./plan-batch') as typeof Plan;
  return planBatch({ ...planOptions(plan), ...rules, dryRun: true });
}
