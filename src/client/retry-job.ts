import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import Long from 'long';
import type { ConversionHandle } from './conversion-handle';
import { FileConversionClient } from './file-conversion-client';
import type { JobInspection } from './inspect-job';

/** How a job that ended without a file can run again. */
export type RetryPlan =
  /** Goes on with the conversion task that there is: awaits it, or downloads its result. Nothing is submitted. */
  | { kind: 'resume'; taskId: string; from: 'converting' | 'downloading'; eventId: number }
  /** From the beginning; no earlier submit can have been charged. */
  | { kind: 'startAnew' }
  /** From the beginning, although an earlier submit may have been charged, or was: only on request. */
  | { kind: 'resubmit'; why: string }
  /** There is nothing to do. */
  | { kind: 'none'; why: string };

/** Decides what is safe, by the history of the job's last run. */
export function planRetry({ status, history, workflowId }: JobInspection): RetryPlan {
  if (status === 'running') return { kind: 'none', why: `job ${workflowId} still runs` };
  if (status === 'completed') return { kind: 'none', why: `job ${workflowId} has completed` };
  const { task, resumeAt, cancelRequested, mayHaveRun } = history;
  if (task) {
    const wasCancelledBefore = resumeAt !== undefined && cancelRequested && cancelRequested.eventId < resumeAt;
    if (resumeAt !== undefined && !wasCancelledBefore) {
      const from = task.finished ? 'downloading' : 'converting';
      return { kind: 'resume', taskId: task.taskId, from, eventId: resumeAt };
    }
    const why = `conversion task ${task.taskId} was accepted while the job was being cancelled, and may be charged; a new run can't take it over`;
    return { kind: 'resubmit', why };
  }
  if (mayHaveRun) {
    const why = 'its last submit has an unknown outcome: the conversion may have run and may have been charged';
    return { kind: 'resubmit', why };
  }
  return { kind: 'startAnew' };
}

/** `temporal.api.enums.v1.ResetReapplyExcludeType`. */
const excludeSignals = [1];

/** Of `temporal.api.enums.v1.VersioningBehavior`. */
const pinned = 1;

/** The new run would wait for workers of the version that the last one began on, which may be gone. */
const ofCurrentVersion = {
  workflowExecutionOptions: { versioningOverride: { autoUpgrade: true } },
  updateMask: { paths: ['versioning_override'] },
};

/**
 * A new run of the job that has everything behind it that its last run had done, up to the submit: Temporal's reset. Signals that came later are not
 * sent again.
 * @returns the id of the new run.
 */
export async function resumeJob(
  client: Client,
  { workflowId, runId }: { workflowId: string; runId: string },
  plan: Extract<RetryPlan, { kind: 'resume' }>,
): Promise<string> {
  const workflowExecution = { workflowId, runId };
  const { namespace } = client.options;
  const { workflowExecutionInfo } = await client.workflowService.describeWorkflowExecution({
    namespace,
    execution: workflowExecution,
  });
  const isPinned = (workflowExecutionInfo?.versioningInfo?.behavior as number | undefined) === pinned;
  const reset = await client.workflowService.resetWorkflowExecution({
    namespace,
    workflowExecution,
    workflowTaskFinishEventId: Long.fromNumber(plan.eventId),
    requestId: randomUUID(),
    reason: `retried: goes on with conversion task ${plan.taskId}`,
    resetReapplyExcludeTypes: excludeSignals,
    ...(isPinned && { postResetOperations: [{ updateWorkflowOptions: ofCurrentVersion }] }),
  });
  return reset.runId;
}

/** A new run of the job from its beginning, with the same id. `chargedBefore`: an earlier run may have been charged, which its result then tells. */
export function startAnew(
  client: Client,
  { workflowId, taskQueue, batchId, history }: JobInspection,
  { chargedBefore }: { chargedBefore: boolean },
): Promise<ConversionHandle> {
  const conversions = new FileConversionClient({ client, taskQueue });
  return conversions.start(history.input, {
    workflowId,
    chargedBefore,
    ...(batchId !== undefined && { batchId }),
  });
}
