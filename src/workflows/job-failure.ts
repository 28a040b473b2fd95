import { ActivityFailure, ApplicationFailure, TimeoutFailure, rootCause } from '@temporalio/workflow';
import type { ActivityFailureDetails, JobReaction, SendingFence } from '../shared/activities';
import { failureCodes } from '../shared/activities';

/** A failed activity as the job sees it. */
export interface JobFailure {
  code: string;
  /** The code is one that only the service knows. */
  unlisted?: boolean;
  message: string;
  /** `submitAfterLoss`: the worker was lost before it sent anything. */
  reaction: JobReaction | 'submitAfterLoss';
  httpStatus?: number;
  endpoint?: string;
  taskId?: string;
  requests: number;
  /** The service was asked to call back for the request. */
  callback?: true;
  error?: Error;
}

/** Reads what an activity threw; `deadlineCode` names the deadline that this activity runs under. */
export function readFailure(error: unknown, deadlineCode: string, { isSubmit = false } = {}): JobFailure {
  const failure = error instanceof ActivityFailure ? error.cause : error;
  if (failure instanceof TimeoutFailure) return readTimeout(failure, deadlineCode, isSubmit);
  if (failure instanceof ApplicationFailure) {
    const details = readDetails(failure);
    if (error instanceof ActivityFailure && error.retryState === 'TIMEOUT') {
      const message = `the deadline passed while it still had to be retried; last: ${failure.message}`;
      return { ...details, unlisted: false, code: deadlineCode, reaction: 'fail', message, error: failure };
    }
    return { ...details, message: failure.message, error: failure };
  }
  const cause = error instanceof Error ? error : undefined;
  return {
    code: 'UNEXPECTED',
    message: rootCause(error) ?? 'unexpected failure',
    reaction: 'fail',
    requests: 0,
    ...(cause && { error: cause }),
  };
}

/** A lost worker or a time-out: whether a convert request was on its way then is told by the fence that the activity left. */
function readTimeout(failure: TimeoutFailure, deadlineCode: string, isSubmit: boolean): JobFailure {
  if (isSubmit) {
    const fence = readFence(failure.lastHeartbeatDetails);
    if (fence) {
      return {
        code: failureCodes.outcomeUnknown,
        message:
          'the worker was lost after it began to send the convert request, so it is not known whether the conversion runs.',
        reaction: 'outcomeUnknown',
        requests: 1,
        ...(fence.callback === true && { callback: true }),
        error: failure,
      };
    }
    if (failure.timeoutType !== 'SCHEDULE_TO_CLOSE') {
      const message = 'the worker was lost before it sent the convert request.';
      return { code: deadlineCode, message, reaction: 'submitAfterLoss', requests: 0, error: failure };
    }
  }
  const message = `the deadline passed (${failure.timeoutType}); last worker known to run it is gone or too slow.`;
  return { code: deadlineCode, message, reaction: 'fail', requests: 0, error: failure };
}

function readFence(details: unknown): Partial<SendingFence> | undefined {
  const fence = details as Partial<SendingFence> | null | undefined;
  return fence?.phase === 'sending' ? fence : undefined;
}

function readDetails(failure: ApplicationFailure): Omit<JobFailure, 'message' | 'error'> {
  const details = (failure.details?.[0] ?? {}) as Partial<ActivityFailureDetails>;
  return {
    code: details.code ?? failure.type ?? 'UNEXPECTED',
    ...((details.unlisted === true || details.code === undefined) && { unlisted: true }),
    reaction: details.reaction ?? 'fail',
    requests: details.requests ?? 0,
    ...(details.httpStatus !== undefined && { httpStatus: details.httpStatus }),
    ...(details.endpoint !== undefined && { endpoint: details.endpoint }),
    ...(details.taskId !== undefined && { taskId: details.taskId }),
    ...(details.callback === true && { callback: true }),
  };
}
