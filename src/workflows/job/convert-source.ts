import { CancellationScope, CancelledFailure, isCancellation, sleep, workflowInfo } from '@temporalio/workflow';
import { failureCodes, type ConvertFileInput, type ConvertFileResult, type TaskReport } from '../../shared/activities';
import { defined } from '../../shared/defined';
import { awaitConversion, awaitProof } from './await-conversion';
import { readFailure, type JobFailure } from './job-failure';
import type { JobParts } from './job-parts';
import { wasReset } from './job-progress';
import type { SourceUpload } from './upload-source';

/** Uploads, then submits until a conversion is done. Each reason to submit again has its own limit. */
export async function convertSource(job: JobParts, upload: SourceUpload): Promise<TaskReport | 'skipped'> {
  const { policies, progress, waits, credits, room } = job;
  const resubmissions = new Resubmissions(job);
  let uploaded = await upload.run();
  let deadline = Date.now() + policies.submitDeadlineMs;
  for (;;) {
    if (uploaded === 'skipped') return 'skipped';
    const { connector, bytes: sourceBytes } = uploaded;
    const attempt = await submitOnce(job, { connector, sourceBytes, deadlineMs: deadline - Date.now() });
    if (!('failure' in attempt)) return attempt.report;
    const { failure } = attempt;
    switch (failure.reaction) {
      case 'submitAfterLoss':
        if (Date.now() >= deadline + waits.waitedMs) throw progress.failed(failure);
        break;
      case 'awaitCredits':
        if (credits.isOverdue) throw progress.failed(credits.outOfCredits(failure));
        upload.forgive();
        await credits.park();
        deadline = credits.deadline + policies.submitTimeoutMs;
        break;
      case 'awaitRoom':
        room.enter(failure);
        deadline = room.deadline + policies.submitTimeoutMs;
        break;
      case 'uploadAgain':
        if (!upload.isRepeatable) throw progress.failed(failure);
        uploaded = await upload.run();
        break;
      case 'submitAgain':
        await resubmissions.next(failure);
        break;
      case 'outcomeUnknown':
        await resubmissions.afterUnknownOutcome(failure);
        break;
      case 'taskLost':
      case 'fail':
        throw progress.failed(failure);
    }
  }
}

/** Records what a failure says about charges. */
export function noteFailure({ progress }: JobParts, failure: JobFailure): void {
  const { charge } = progress;
  progress.requests += failure.requests;
  progress.lastFailure = failure;
  if (failure.afterReset) charge.foundOpen();
  if (failure.origin === 'task') charge.failedAtService();
  else if (failure.reaction === 'outcomeUnknown') charge.unknown();
  else if (failure.reaction === 'taskLost') charge.lost();
}

interface SubmitTurn {
  connector: string;
  /** Size of the source, when this job uploaded it. */
  sourceBytes: number | undefined;
  deadlineMs: number;
}

async function submitOnce(
  job: JobParts,
  turn: SubmitTurn,
): Promise<{ report: TaskReport | 'skipped' } | { failure: JobFailure }> {
  let failure: JobFailure;
  try {
    const accepted = await submitConversion(job, turn);
    if (accepted.skipped) return { report: 'skipped' };
    const { report, callback = false } = accepted;
    if (report.finished) return { report };
    return { report: await awaitConversion(job, { taskId: report.taskId, callback }) };
  } catch (error) {
    if (isCancellation(error)) throw error;
    failure = readConvertFailure(job, error);
  }
  noteFailure(job, failure);
  if (failure.reaction !== 'outcomeUnknown' || !failure.callback) return { failure };
  const proof = await awaitProof(job, failure);
  if (proof.report) return proof;
  if (proof.failure.reaction !== 'outcomeUnknown') noteFailure(job, proof.failure);
  return proof;
}

function readConvertFailure({ progress, credits, room }: JobParts, error: unknown): JobFailure {
  if (progress.phase === 'converting') return readFailure(error, failureCodes.conversionDeadline);
  const deadlineCode = credits.isParked ? failureCodes.creditsDeadline : room.deadlineCode(failureCodes.submitDeadline);
  const failure = room.explain(readFailure(error, deadlineCode, { isSubmit: true }));
  return failure.code === failureCodes.creditsDeadline ? credits.outOfCredits(failure) : failure;
}

/** Submits once. While the job is parked, the activity retries by itself without adding to the history. */
function submitConversion(job: JobParts, turn: SubmitTurn): Promise<ConvertFileResult> {
  if (job.credits.isParked) return submitUntilRestored(job, turn);
  job.credits.forgetRestored();
  return submit(job, { ...turn, askAtOnce: false });
}

/** While the job is parked: restarts the activity, which then submits at once, whenever credits are restored. */
async function submitUntilRestored(job: JobParts, turn: SubmitTurn): Promise<ConvertFileResult> {
  const { credits } = job;
  for (let askAtOnce = credits.isRestored(); ; askAtOnce = true) {
    credits.forgetRestored();
    const scope = new CancellationScope();
    const submitted = scope.run(() => submit(job, { ...turn, askAtOnce }));
    const settled = submitted.then(
      () => undefined,
      () => undefined,
    );
    await Promise.race([settled, credits.untilRestored().catch(() => undefined)]);
    // Cancels an activity between two attempts at once; a running attempt is completed.
    if (credits.isRestored()) scope.cancel();
    try {
      return await submitted;
    } catch (error) {
      const endedByUs = credits.isRestored() && !CancellationScope.current().consideredCancelled;
      if (!isCancellation(error) || !endedByUs) throw error;
      job.progress.requests += requestsOfCut(error);
    }
  }
}

async function submit(
  { input, policies, name, activities, progress, callbacks, credits, room, host }: JobParts,
  { connector, sourceBytes, deadlineMs, askAtOnce }: SubmitTurn & { askAtOnce: boolean },
): Promise<ConvertFileResult> {
  const parked = credits.submitDetails(askAtOnce);
  if (!parked) progress.enter('submitting', room.waitsFor);
  const { app, output, input: inputFormat, parameters, destination } = input;
  const request: ConvertFileInput = {
    ...defined({ app, connector, sourceName: name, output, input: inputFormat, parameters, destination, host }),
    ...(input.mode === 'sync' && { mode: 'sync' }),
    onExisting: policies.onExisting,
    // The result is assumed to be about as large as the source.
    ...room.needed(destination === undefined ? undefined : sourceBytes),
    ...defined({ parked, restoredAt: credits.restoredAt }),
    // An activity scheduled before the reset is part of this run's history, but its input lacks the flag.
    ...(wasReset() && { afterReset: true }),
    nonce: callbacks.next(),
  };
  const summary = parked ? `${progress.summary}, waits for vCredits` : progress.summary;
  const options = { summary, deadlineMs: Math.max(deadlineMs, policies.submitTimeoutMs) };
  const accepted = await activities.convertFile(request, options);
  room.over();
  if (!accepted.skipped) {
    if (accepted.afterReset) progress.charge.foundOpen();
    progress.charge.accepted(accepted.report.taskId);
    progress.taskId = accepted.report.taskId;
    progress.requests += accepted.requests;
  }
  return accepted;
}

/** Requests of an activity that was cancelled right after a refusal; unknown when cancelled between two attempts. */
function requestsOfCut(error: unknown): number {
  const last = error instanceof CancelledFailure ? error.cause : undefined;
  return last ? readFailure(last, failureCodes.submitDeadline).requests : 0;
}

/** Resubmits after a conversion that failed or may have run: up to `policies.maxResubmissions` times, with backoff. */
class Resubmissions {
  private count = 0;

  constructor(private readonly job: JobParts) {}

  async next(failure: JobFailure): Promise<void> {
    const { progress, policies } = this.job;
    if (this.count >= policies.maxResubmissions) throw progress.failed(failure);
    progress.enter('submitting', 'Waits a moment before it submits the conversion again.');
    const { retryInitialIntervalMs, retryMaximumIntervalMs } = policies;
    const backoffMs = Math.min(retryInitialIntervalMs * 2 ** this.count, retryMaximumIntervalMs);
    const pauseMs = Math.max(backoffMs, failure.orderedWaitMs ?? 0);
    if (pauseMs > policies.creditsDeadlineMs) throw progress.failed(failure);
    await sleep(pauseMs, { summary: 'before the next submit' });
    this.count += 1;
  }

  async afterUnknownOutcome(failure: JobFailure): Promise<void> {
    const { progress, policies } = this.job;
    const isForbidden = policies.onUnknownOutcome === 'fail';
    const decision = isForbidden || this.count >= policies.maxResubmissions ? 'failed' : 'resubmitted';
    progress.unknownOutcome(decision, failure);
    if (isForbidden) {
      throw progress.failed(
        failure,
        `Policy onUnknownOutcome is "fail": nothing was submitted again. Look at the service whether the conversion ran; to convert all the same: fileconv job retry ${workflowInfo().workflowId} --resubmit`,
      );
    }
    await this.next(failure);
  }
}
