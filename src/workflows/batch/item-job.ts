import { patched, workflowInfo } from '@temporalio/workflow';
import { failureCodes } from '../../job/activities';
import type { BatchItem, ConversionBatchInput } from '../../batch/model/types';
import type { EarlierRuns } from '../../job/charge';
import { defined } from '../../job/defined';
import { type ConversionJobInput, type JobOutcome, lastSegment, type Recall, type SharedUpload } from '../../job/types';
import { shellWord } from '../../messages/wording';
import { outcomeOfFailure } from '../../job/job-outcome';
import { defaultPolicies, type OnUnknownOutcome } from '../../job/policies';
import { unwrap } from './batch-activities';

export type LastRun = Pick<Recall, 'runId' | 'needsLookup'>;

export function itemJobInput(
  batch: ConversionBatchInput,
  row: BatchItem,
  {
    earlier,
    upload,
    recall: last,
  }: { earlier?: EarlierRuns | undefined; upload?: SharedUpload | undefined; recall?: LastRun | undefined },
): ConversionJobInput {
  const { app, mode, policies } = batch;
  const { source, output, input, parameters, destination, replaces } = row;
  const onExisting = row.onExisting ?? batch.onExisting;
  const onUnknownOutcome = ruleOf(batch);
  // If the service has lost the task, the job decides by this policy.
  const isFetched = earlier?.taskId !== undefined;
  return defined({
    app,
    source: { uri: source },
    output,
    input,
    parameters,
    destination,
    onExisting,
    replaces,
    mode,
    upload,
    announcesUpload: row.sourceGroup === undefined ? undefined : true,
    earlier,
    recall: last && { ...last, onUnknownOutcome, ...defined({ again: batch.again }) },
    policies: { onRefusedAccount: 'park' as const, ...policies, ...(isFetched && { onUnknownOutcome }) },
  });
}

/** Whether a reset started this run: its history lacks what the previous run did after the reset point. */
function wasReset(): boolean {
  const { runId, originalExecutionRunId } = workflowInfo();
  return runId !== originalExecutionRunId;
}

/** In the first workflow task after a reset; a replay finds the patch marker there. */
export function isJustReset(): boolean {
  return (workflowInfo().unsafe.isReplaying || wasReset()) && patched('reset');
}

/** A reset repeats neither `again` nor `resubmit`, and neither do the runs that continue after it. */
export function wishesOf(input: ConversionBatchInput): ConversionBatchInput {
  return wasReset() ? defined({ ...input, again: undefined, resubmit: undefined }) : input;
}

/** For charges left by earlier jobs; for its own submits, a job follows its policy. */
export function ruleOf({ isScheduled, resubmit, policies }: ConversionBatchInput): OnUnknownOutcome {
  if (resubmit) return 'resubmit';
  return isScheduled ? 'fail' : (policies?.onUnknownOutcome ?? defaultPolicies.onUnknownOutcome);
}

/** The batch's own priority, or else 4, below Temporal's default of 3: single jobs, whose users wait, go first. */
export function itemJobPriority(): { priorityKey: number } {
  const { priorityKey = 0 } = workflowInfo().priority ?? {};
  return { priorityKey: priorityKey > 0 ? priorityKey : 4 };
}

/** For a destination that a job with another source or other options is writing. */
export function takenBy(workflowId: string, source: string): JobOutcome {
  const message = `Job ${workflowId} is converting ${lastSegment(source)} to this destination. Wait for it, or name another one: fileconv job watch ${shellWord(workflowId)}`;
  return { status: 'failed', code: failureCodes.destinationTaken, message, charge: 'no' };
}

/** For an item whose row or job cannot be read. */
export function unreadable(error: unknown): JobOutcome {
  return outcomeOfFailure(unwrap(error));
}
