import { ActivityFailure, ApplicationFailure, TimeoutFailure, rootCause } from '@temporalio/workflow';
import {
  failureCodes,
  jobReactions,
  readAccepted,
  readFence,
  readLast,
  type AcceptedSubmit,
  type ActivityFailureDetails,
} from '../../job/activities';
import { formatDuration } from '../../messages/wording';

export interface JobFailure extends Omit<ActivityFailureDetails, 'unlisted'> {
  /** The code is not in our list. */
  unlisted?: boolean;
  message: string;
  requests: number;
  error?: Error;
}

/** Converts an activity's error; `deadlineCode` names the deadline of this activity. */
export function readFailure(error: unknown, deadlineCode: string): JobFailure {
  const failure = error instanceof ActivityFailure ? error.cause : error;
  if (failure instanceof TimeoutFailure) return readTimeout(failure, deadlineCode);
  if (failure instanceof ApplicationFailure) {
    const details = readDetails(failure);
    if (error instanceof ActivityFailure && error.retryState === 'TIMEOUT') {
      const message = `${whyTooLate(failure)}; last: ${failure.message}`;
      return { ...details, unlisted: false, code: deadlineCode, reaction: 'fail', message, error: failure };
    }
    const message = failure.message || 'a step was ended by hand in Temporal, without a reason.';
    return { ...details, message, error: failure };
  }
  const cause = error instanceof Error ? error : undefined;
  return {
    code: 'UNEXPECTED',
    message: rootCause(error) ?? 'unexpected failure',
    reaction: 'fail',
    origin: 'worker',
    requests: 0,
    ...(cause && { error: cause }),
  };
}

/** Whether no activity of ours tells of it: an operator has ended the activity in Temporal, or its result can't be read. */
export function isForeign(error: unknown): boolean {
  const failure = error instanceof ActivityFailure ? error.cause : error;
  if (failure instanceof TimeoutFailure) return false;
  return !(failure instanceof ApplicationFailure) || detailsOf(failure).reaction === undefined;
}

/** The submit accepted by a worker that was lost while it awaited the conversion's end. @throws the error again if there is none. */
export function acceptedBeforeLoss(error: unknown): AcceptedSubmit {
  const timeout = error instanceof ActivityFailure ? error.cause : undefined;
  const accepted = timeout instanceof TimeoutFailure ? readAccepted(timeout.lastHeartbeatDetails) : undefined;
  if (!accepted) throw error;
  return accepted;
}

/** The worker was lost during cancellation, or a deadline passed. With a fence, a convert request may have been sent. */
function readTimeout(failure: TimeoutFailure, deadlineCode: string): JobFailure {
  const base = { code: deadlineCode, origin: 'worker', requests: 0, error: failure } as const;
  const fence = readFence(failure.lastHeartbeatDetails);
  if (fence) {
    return {
      ...base,
      code: failureCodes.outcomeUnknown,
      message:
        'the worker was lost after it began to send the convert request, so it is not known whether the conversion runs.',
      reaction: 'outcomeUnknown',
      requests: 1,
      ...(fence.callback && { callback: true }),
    };
  }
  const { last: reason, requests = 0 } = readLast(failure.lastHeartbeatDetails);
  const last = failure.cause?.message ?? reason;
  const why = last === undefined ? 'no worker took it, or the one that did is gone or too slow.' : `last: ${last}`;
  const message = `the deadline passed (${failure.timeoutType}); ${why}`;
  return { ...base, requests, message, reaction: 'fail' };
}

function whyTooLate(failure: ApplicationFailure): string {
  const { orderedWaitMs } = detailsOf(failure);
  if (orderedWaitMs === undefined) return 'the deadline passed while it still had to be retried';
  return `the service orders a wait of ${formatDuration(orderedWaitMs)}, which is longer than the deadlines allow`;
}

/** Empty for a failure that is not ours. */
export function detailsOf(failure: ApplicationFailure): Partial<ActivityFailureDetails> {
  return failure.details?.[0] ?? {};
}

function readDetails(failure: ApplicationFailure): Omit<JobFailure, 'message' | 'error'> {
  const details = detailsOf(failure);
  return {
    ...details,
    code: details.code ?? failure.type ?? 'UNEXPECTED',
    unlisted: details.unlisted === true || details.code === undefined,
    // A newer worker may send unknown reactions: failing is safer than an action that may cost money.
    reaction: jobReactions.find((reaction) => reaction === details.reaction) ?? 'fail',
    origin: details.origin ?? 'worker',
    requests: details.requests ?? 0,
  };
}
