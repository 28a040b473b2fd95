import { CancellationScope, isCancellation, setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import { defaultWindow, type BatchPlan, type ConversionBatchInput } from '../../batch/model/types';
import { noTotals, type ConversionBatchResult } from '../../batch/model/state';
import type { PlanBatchResult } from '../../batch/model/activities';
import { defined } from '../../job/defined';
import { searchAttributes } from '../../job/search-attributes';
import { planSteps, unwrap } from './batch-activities';
import { listenToPlanning } from './batch-controls';
import { BatchNotices, notifiesOf } from './batch-notices';
import { ruleOf } from './item-job';

/** Empty for inline items. */
export type Planned = Partial<PlanBatchResult>;

/** Plans the batch, which handles nothing but state and cancellation until then. If it is cancelled meanwhile, returns its result. */
export async function planRun(
  input: ConversionBatchInput,
  plan: BatchPlan,
  startedAt: number,
): Promise<Planned | ConversionBatchResult> {
  const { window = defaultWindow } = input;
  const none = { items: 0, inFlight: 0, waiting: 0, ...noTotals(), window, startedAt };
  const planning = new CancellationScope();
  listenToPlanning(
    () => ({ status: 'planning', ...none }),
    () => planning.cancel(),
  );
  setCurrentDetails('**planning**: looks for what is new or changed.');
  try {
    const asked = defined({
      request: { ...defined({ ...input, resubmit: undefined, again: undefined }), plan },
      tags: workflowInfo().typedSearchAttributes.get(searchAttributes.tags),
      onUnknownOutcome: ruleOf(input),
      again: input.again,
    });
    const planned = await planning.run(() => planSteps['conversion.planBatch'](asked));
    return planning.consideredCancelled ? cancelled() : planned;
  } catch (error) {
    if (isCancellation(error)) return cancelled();
    const failure = unwrap(error);
    await new BatchNotices(input, notifiesOf(error)).failed(failure);
    throw failure;
  }

  function cancelled(): ConversionBatchResult {
    return { status: 'cancelled', ...none, durationMs: Date.now() - startedAt };
  }
}
