import { endpoints } from '../contract/endpoints';
import { lookUpErrorCode, type ErrorClass } from '../contract/error-codes';
import type { ConversionApiError } from '../http/errors';
import type { JobReaction } from '../job/activities';
import { isPaid, type FailureContext } from './failure-context';
import { nextPauseMs } from './pauses';

/** After this many consecutive unreadable responses, the peer is assumed not to be the conversion service. */
export const maxUnreadableAnswers = 5;
/** A single lagging or restarting node of the service can give fewer such answers. */
const minMissingAnswers = 4;
const minMissingMs = 60_000;

interface Reaction {
  reaction: JobReaction | 'retry';
  /** Routine: no error log, no failure metric. */
  expected?: boolean;
  delayMs?: number | undefined;
  orderedWaitMs?: number | undefined;
  /** Replaces the error's message. */
  message?: string;
}

/** Reaction to an error that leaves no outcome unknown, by the class of its code. */
export function reactionTo(error: ConversionApiError, context: FailureContext): Reaction {
  const isFile = error.endpoint === endpoints.downloadUrlGet;
  const orderedWaitMs = orderedWaitOf(error);
  switch (classOf(error)) {
    case 'rate': {
      const delayMs = orderedWaitMs ?? (context.pauses && nextPauseMs(context.pauses, context.refusals ?? 1));
      return { reaction: 'retry', expected: true, delayMs, orderedWaitMs };
    }
    case 'transient':
      return { reaction: 'retry', delayMs: orderedWaitMs, orderedWaitMs };
    case 'credits':
      return { reaction: 'retry' };
    case 'chain':
    case 'expired':
      if (isPaid(context)) return { reaction: reactionToMissing(error, context) };
      return { reaction: context.step === 'submit' ? 'uploadAgain' : 'fail' };
    case 'server':
      // A task that completed with this error was not charged; the workflow limits the resubmissions.
      return { reaction: context.step === 'submit' ? 'submitAgain' : 'retry', delayMs: orderedWaitMs, orderedWaitMs };
    case 'unreadable': {
      // The service keeps the result for a later run of the job, while each attempt transfers the file again.
      const hopeless = (isFile || !isPaid(context)) && (context.unreadableInARow ?? 1) >= maxUnreadableAnswers;
      const reaction = hopeless ? 'fail' : 'retry';
      if (isFile) return { reaction };
      const advice = `Check that the base URL of app ${context.app} is the conversion service's (\`fileconv config show\`).`;
      return { reaction, message: `${error.message} ${advice}` };
    }
    case 'caller':
    case 'account':
    case 'final':
      // An operator can fix this, and the paid conversion then continues.
      return { reaction: isPaid(context) ? 'retry' : 'fail' };
    case 'input':
      return { reaction: 'fail' };
  }
}

/** Reaction to a task that completed with an error of this class: it was not charged. */
export function reactionToTask(errorClass: ErrorClass, parksRefused: boolean): JobReaction {
  const reactions: Record<ErrorClass, JobReaction> = {
    caller: 'fail',
    input: 'fail',
    account: parksRefused ? 'park' : 'fail',
    credits: 'park',
    rate: 'submitAgain',
    chain: 'uploadAgain',
    expired: 'uploadAgain',
    server: 'submitAgain',
  };
  return reactions[errorClass];
}

/**
 * A single such answer about an accepted task may be wrong, and giving up wastes a paid conversion, so only several over some time
 * count. Even then the job keeps the task, and a later run asks for it again.
 */
function reactionToMissing({ code, endpoint }: ConversionApiError, context: FailureContext): JobReaction | 'retry' {
  // For `download/url/get` this error concerns the link, and each attempt requests a new link.
  const isOfLink = endpoint === endpoints.downloadUrlGet && code.endsWith('_DEPENDENT_TASK');
  if (code === 'NOT_READY_DEPENDENT_TASK' || isOfLink || !isGone(context)) return 'retry';
  return context.isEarlierTask === true ? 'taskLost' : 'fail';
}

export function isGone({ missing, pauses, serverNow = Date.now }: FailureContext): boolean {
  if (missing === undefined || missing.answers < minMissingAnswers) return false;
  // With shorter retry intervals, the same number of answers takes less time.
  return serverNow() - missing.since >= Math.min(minMissingMs, pauses?.maximumMs ?? minMissingMs);
}

/** Ignores a RETRY-AFTER of 0: to the Temporal server, a delay of 0 means no further attempt. */
export function orderedWaitOf({ retryAfterSeconds }: ConversionApiError): number | undefined {
  return retryAfterSeconds ? retryAfterSeconds * 1_000 : undefined;
}

/** By the code or, if it is not listed, by the HTTP status. */
export function classOf(error: ConversionApiError): ErrorClass | 'transient' | 'unreadable' | 'final' {
  const known = lookUpErrorCode(error.code);
  if (known) return known.class;
  switch (error.code) {
    case 'RATE_LIMIT_WAIT':
      return 'rate';
    case 'SERVICE_UNREACHABLE':
    case 'CONNECTION_LOST':
    case 'REQUEST_TIMEOUT':
    case 'REQUEST_ABORTED':
    case 'FILE_CHANGED':
      return 'transient';
    case 'UNREADABLE_RESPONSE':
      return 'unreadable';
    default: {
      const status = error.httpStatus ?? 0;
      if (status === 429) return 'rate';
      return status >= 500 || status === 408 ? 'transient' : 'final';
    }
  }
}
