import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  ChildWorkflowFailure,
  ParentClosePolicy,
  condition,
  continueAsNew,
  setCurrentDetails,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import { failureCodes } from '../../job/activities';
import type { ConversionSweepInput, ConversionSweepResult } from '../../batch/model/types';
import { conversionBatchType } from '../../job/names';
import { attributesOf, isListed, storable } from '../../job/search-attributes';
import { batchDetails, batchSummary } from '../../batch/model/details';
import { describeBatch } from '../batch/batch-details';
import type { conversionBatch } from '../batch/conversion-batch';
import { isJustReset } from '../batch/item-job';

/**
 * Starts a batch under its name, from a schedule, and reports how it ended. Does nothing while the batch is running. When it is reset,
 * it begins anew: Temporal neither repeats the end of a batch to it nor passes its cancellation on.
 *
 * Completes whatever the outcome of the files, also if its cancellation has cancelled the batch. Fails as the batch does, for example
 * with `SOURCE_NOT_FOUND`.
 */
export async function conversionSweep(sweep: ConversionSweepInput): Promise<ConversionSweepResult> {
  checkSweepInput(sweep);
  const { batch } = sweep;
  const beginAnew = async () => {
    // The next run would not be cancelled.
    if (CancellationScope.current().consideredCancelled) throw new CancelledFailure('Cancelled after a reset');
    return continueAsNew<typeof conversionSweep>(sweep);
  };
  if (isJustReset()) await beginAnew();
  const child = await startBatch(sweep);
  if (isJustReset()) await beginAnew();
  if (!child) {
    setCurrentDetails(`**Skipped**: batch \`${batch}\` was running already.`);
    return { status: 'batchRunning' };
  }
  try {
    const isReset = CancellationScope.nonCancellable(() => condition(isJustReset));
    const ended = await Promise.race([child.result(), isReset.then(beginAnew)]);
    const { namespace } = workflowInfo();
    setCurrentDetails(
      describeBatch({ ...ended, workflowId: batch, namespace, isListed: isListed(workflowInfo()) }, ended),
    );
    return ended;
  } catch (error) {
    throw error instanceof ChildWorkflowFailure ? (error.cause ?? error) : error;
  }
}

/** Undefined if the batch is already running. */
async function startBatch({ batch, input }: ConversionSweepInput) {
  try {
    return await startChild<typeof conversionBatch>(conversionBatchType, {
      workflowId: batch,
      args: [input],
      // Like the jobs of a batch, the batch outlives its parent. Cancelling the sweep still cancels it.
      parentClosePolicy: ParentClosePolicy.ABANDON,
      staticSummary: batchSummary(input),
      staticDetails: batchDetails(input),
      ...(isListed(workflowInfo()) && {
        typedSearchAttributes: storable(attributesOf(input.app, { batchId: batch })),
      }),
    });
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return undefined;
    throw error;
  }
}

/** The client has already checked this, but a hand-written schedule may not have; a plain error would be retried forever. */
function checkSweepInput(sweep: Partial<ConversionSweepInput> | null | undefined): void {
  const invalid = (field: string, problem: string) =>
    ApplicationFailure.nonRetryable(`conversionSweep: ${field} ${problem}`, failureCodes.invalidSweep);
  if (typeof sweep !== 'object' || sweep === null) throw invalid('its input', 'must be an object');
  if (typeof sweep.batch !== 'string' || sweep.batch === '') throw invalid('batch', 'must be the name of the batch');
  if (typeof sweep.input?.app !== 'string') throw invalid('input', 'must be what the batch is started with');
}
