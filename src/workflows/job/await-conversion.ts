import { isCancellation } from '@temporalio/workflow';
import { failureCodes, type CheckTaskInput, type TaskReport } from '../../job/activities';
import { defined } from '../../job/defined';
import { shownTime } from '../../messages/wording';
import type { JobFailure } from './job-failure';
import type { JobParts } from './job-parts';

interface Knowledge {
  taskId: string;
  /** A callback was requested, or has already arrived. */
  callback: boolean;
  /** As in the input of the check. */
  fromCallback?: string | undefined;
  isEarlier?: true;
  /** As in the submit's result. */
  notYetMs?: number | undefined;
}

export type Checked = { report: TaskReport; failure?: undefined } | { report?: undefined; failure: JobFailure };

/**
 * Waits until the service has finished a conversion. Polls through activity retries, which add nothing to the history. If a callback is
 * expected, the first poll waits for it, at most `pollAfter`, unless the submit step has already received it.
 */
export async function awaitConversion(
  { input, policies, name, activities, progress, callbacks, waits, park }: JobParts,
  { taskId, callback, fromCallback, isEarlier, notYetMs }: Knowledge,
): Promise<Checked> {
  const submittedAt = Date.now() - (notYetMs ?? 0);
  const heldBefore = waits.waitedMs + park.spentMs;
  const { conversionDeadlineMs, pollAfterMs, firstCheckAfterMs, maxCheckIntervalMs } = policies;
  let isCalled = false;
  if (callback && notYetMs !== 0) {
    const waitMs = Math.min(pollAfterMs, conversionDeadlineMs / 2);
    const pollsAt = shownTime(submittedAt + waitMs);
    progress.enter('converting', `Waits for the service to call back; from ${pollsAt} UTC on it asks by itself.`);
    isCalled = await callbacks.wait(Math.max(waitMs - (notYetMs ?? 0), 1));
  }
  const request: CheckTaskInput = defined({
    app: input.app,
    taskId,
    sourceName: name,
    input: input.input,
    output: input.output,
    submittedAt,
    firstCheckAfterMs: callback || isEarlier || notYetMs === 0 ? 0 : firstCheckAfterMs,
    notYetMs,
    maxCheckIntervalMs,
    isCalled: isCalled || undefined,
    fromCallback,
    isEarlier,
  });
  for (;;) {
    const heldMs = waits.waitedMs + park.spentMs - heldBefore;
    const lastAt = submittedAt + conversionDeadlineMs + heldMs;
    if (!park.isParked) {
      const until = shownTime(lastAt);
      progress.enter('converting', `Waits for the service to finish the conversion, until ${until} UTC at the latest.`);
    }
    const poll = () =>
      park.run((parking) => {
        const deadlineMs = park.stretched(Math.max(lastAt - Date.now(), 1));
        return activities.checkTask({ ...request, ...parking }, deadlineMs);
      });
    try {
      const { report, requests } = callback && !park.isParked ? await callbacks.race(poll) : await poll();
      progress.requests += requests;
      if (report.finished) return { report };
    } catch (error) {
      if (isCancellation(error)) throw error;
      const failure = park.read(error, failureCodes.conversionDeadline);
      // Only a refused poll parks: a task that failed for lack of something has to be submitted again.
      if (failure.reaction !== 'park' || failure.origin === 'task') return { failure };
      progress.requests += failure.requests;
      progress.lastFailure = failure;
      park.enter(failure);
    }
  }
}

/**
 * After a submit with an unknown outcome, waits for a callback: it proves that the submit was executed, and names its task. If the
 * service does not know that task, or as that of another submit, the outcome stays unknown.
 */
export async function awaitProof(job: JobParts, failure: JobFailure): Promise<Checked> {
  try {
    const proof = await seekProof(job, failure);
    // A submit that is still unknown is counted with the decision made next.
    if (proof.report || proof.failure.reaction !== 'outcomeUnknown')
      job.progress.unknownOutcome('resolvedByCallback', failure);
    return proof;
  } catch (error) {
    if (isCancellation(error)) job.progress.unknownOutcome('cancelled', failure);
    throw error;
  }
}

async function seekProof(job: JobParts, failure: JobFailure): Promise<Checked> {
  const { progress, callbacks, policies } = job;
  progress.enter('submitting', 'It is not known whether the conversion runs. Waits for the service to call back.');
  const isExecuted = await callbacks.wait(policies.unknownOutcomeWaitMs);
  const { namedTask, nonce } = callbacks;
  const note = (text: string) => ({ failure: { ...failure, message: `${failure.message} ${text}` } });
  if (!isExecuted) return note('No callback came.');
  if (namedTask === undefined) return note('A callback came, so it was executed; which task it is, it does not say.');
  progress.taskId = namedTask;
  const checked = await awaitConversion(job, { taskId: namedTask, callback: true, fromCallback: nonce });
  if (checked.report || checked.failure.reaction !== 'outcomeUnknown') {
    progress.charge.resolved(namedTask);
    return checked;
  }
  progress.requests += checked.failure.requests;
  progress.taskId = undefined;
  progress.enter('submitting');
  return note('A callback came, but the service does not know the task that it names as one of this submit.');
}
