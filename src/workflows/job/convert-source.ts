import { isCancellation, sleep, workflowInfo } from '@temporalio/workflow';
import {
  failureCodes,
  type ConvertFileInput,
  type ConvertFileResult,
  type Parking,
  type StepSkipped,
  type TaskReport,
} from '../../job/activities';
import { defined } from '../../job/defined';
import { shellWord } from '../../messages/wording';
import { awaitConversion, awaitProof } from './await-conversion';
import { acceptedBeforeLoss, isForeign, type JobFailure } from './job-failure';
import type { JobParts } from './job-parts';
import type { SourceUpload } from './upload-source';

/** Uploads, then submits until a conversion succeeds. Each reason to submit again has its own limit. */
export async function convertSource(job: JobParts, upload: SourceUpload): Promise<TaskReport | StepSkipped> {
  const { policies, progress, park } = job;
  const resubmissions = new Resubmissions(job);
  let uploaded = await upload.run();
  let deadline = Date.now() + policies.submitDeadlineMs;
  for (;;) {
    if (uploaded.skipped) return uploaded;
    const { connector, bytes: sourceBytes } = uploaded;
    const attempt = await submitOnce(job, { connector, sourceBytes, deadlineMs: deadline - Date.now() });
    if (!('failure' in attempt)) return attempt.report;
    const { failure } = attempt;
    switch (failure.reaction) {
      case 'park':
        upload.resetLimit();
        park.enter(failure);
        deadline = park.deadline + policies.submitTimeoutMs;
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

export function noteFailure({ progress }: JobParts, failure: JobFailure): void {
  const { charge } = progress;
  progress.requests += failure.requests;
  progress.lastFailure = failure;
  if (failure.origin === 'task') charge.failedAtService();
  else if (failure.reaction === 'outcomeUnknown') charge.unknown();
  else if (failure.reaction === 'taskLost') charge.lost();
}

interface SubmitTurn {
  connector: string;
  /** Absent if this job did not upload the source. */
  sourceBytes: number | undefined;
  deadlineMs: number;
}

async function submitOnce(
  job: JobParts,
  turn: SubmitTurn,
): Promise<{ report: TaskReport | StepSkipped } | { failure: JobFailure }> {
  let failure: JobFailure;
  try {
    const accepted = await submitConversion(job, turn);
    if (accepted.skipped) return { report: accepted };
    const { report, callback = false, notYetMs } = accepted;
    if (report.finished) return { report };
    const checked = await awaitConversion(job, { taskId: report.taskId, callback, notYetMs });
    if (checked.report) return checked;
    failure = checked.failure;
  } catch (error) {
    if (isCancellation(error)) throw error;
    // Nobody knows whether it was sent.
    if (isForeign(error)) job.progress.charge.unknown();
    failure = job.park.read(error, failureCodes.submitDeadline);
  }
  noteFailure(job, failure);
  if (failure.reaction !== 'outcomeUnknown' || !failure.callback) return { failure };
  const proof = await awaitProof(job, failure);
  if (proof.report) return proof;
  if (proof.failure.reaction !== 'outcomeUnknown') noteFailure(job, proof.failure);
  return proof;
}

function submitConversion(job: JobParts, turn: SubmitTurn): Promise<ConvertFileResult> {
  const { policies, progress, activities, park } = job;
  if (park.isParked) progress.step = 'submitting';
  else progress.enter('submitting');
  const options = { summary: progress.summary, deadlineMs: Math.max(turn.deadlineMs, policies.submitTimeoutMs) };
  const note = (accepted: ConvertFileResult) => {
    if (accepted.skipped) return accepted;
    progress.charge.accepted(accepted.report.taskId);
    progress.taskId = accepted.report.taskId;
    progress.requests += accepted.requests;
    return accepted;
  };
  return park
    .run((parking) => activities.convertFile(requestOf(job, turn, parking), options))
    .then(note, (error: unknown) => note(acceptedBeforeLoss(error)));
}

function requestOf(
  { input, policies, progress, name, callbacks, park, host, replaces, checking }: JobParts,
  { connector, sourceBytes }: SubmitTurn,
  parking: Parking,
): ConvertFileInput {
  const { app, output, input: inputFormat, parameters, destination } = input;
  // An estimate: the result is assumed to be as large as the source.
  const neededBytes = destination === undefined ? undefined : (sourceBytes ?? park.neededBytes);
  const awaitsMs = Math.min(policies.pollAfterMs, policies.maxCheckIntervalMs);
  return {
    ...defined({
      app,
      connector,
      sourceName: name,
      output,
      input: inputFormat,
      parameters,
      destination,
      replaces,
      neededBytes,
      host,
    }),
    ...(input.mode === 'sync' ? { mode: 'sync' } : policies.firstCheckAfterMs === undefined && { awaitsMs }),
    onExisting: policies.onExisting,
    ...checking,
    ...parking,
    knownRunId: progress.knownRunId,
    nonce: callbacks.next(),
  };
}

/** Resubmits after failures of the service and unknown outcomes: at most `policies.maxResubmissions` times, with backoff. */
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
    if (pauseMs > policies.parkedDeadlineMs) throw progress.failed(failure);
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
        `Policy onUnknownOutcome is "fail": nothing was submitted again. Look at the service whether the conversion ran; to convert all the same: fileconv job retry ${shellWord(workflowInfo().workflowId)} --resubmit`,
      );
    }
    await this.next(failure);
  }
}
