import { ServiceError } from '@temporalio/client';
import { ApplicationFailure, ApplicationFailureCategory, CancelledFailure } from '@temporalio/common';
import { RefusedPlanError } from '../batch/findings';
import { RunFileError } from '../batch/run-files';
import { CheckNotRunError, CheckUnavailableError } from '../checks/errors';
import { adviceOfOthers, lookUpErrorCode } from '../contract/error-codes';
import { ConversionApiError, isClientErrorCode } from '../http/errors';
import { TokenUnreadableError } from '../http/token-source';
import { NoticeNotSentError } from '../notices/send-notice';
import { failureCodes, type ActivityFailureDetails, type FailureOrigin, type JobReaction } from '../job/activities';
import { defined } from '../job/defined';
import type { ParkReason } from '../job/types';
import { systemErrorCode } from '../messages/system-error';
import { wellFormed } from '../messages/wording';
import { StorageError } from '../storage/errors';
import { SlotsTakenError } from './app-slots';
import { isPaid, type FailureContext } from './failure-context';
import { nextPauseMs, withinDeadlineMs, type RetryPauses } from './pauses';
import { classOf, isGone, maxUnreadableAnswers, orderedWaitOf, reactionTo } from './reactions';
import { KnownRefusalError } from './refusal-watch';

/** A request that must not be repeated was sent, and its outcome is unknown. */
export class UnknownSubmitError extends Error {
  override readonly name = 'UnknownSubmitError';

  constructor(
    message = 'the convert request was sent, and its answer is lost: the worker stopped, or Temporal could not take it.',
  ) {
    super(message);
  }
}

const defaultPauses: RetryPauses = { initialMs: 1_000, maximumMs: 60_000 };
/** For a plan, which only reads files: more attempts would hide a bug for a day. */
const maxSurprises = 4;
/** Long enough for a token file that is being written. */
const otherTokenPauseMs = 1_000;
/**
 * Maps any error of an activity to a failure for Temporal and the workflow; no other code does this. Its type is the document's error
 * code or one of ours, its first detail `ActivityFailureDetails`. Cancellation passes through.
 */
export function toFailure(error: unknown, context: FailureContext): Error {
  if (error instanceof CancelledFailure || error instanceof ApplicationFailure) return error;
  if (error instanceof ConversionApiError) return fromApiError(error, context);
  if (error instanceof StorageError) return fromStorageError(error, context);
  const cause = error instanceof Error ? error : new Error(String(error));
  const { message } = cause;
  const fail = (code: string) => build(context, { code, message, reaction: 'fail', cause });
  const retry = (code: string, parts: Partial<FailureParts> = {}) =>
    build(context, { code, message, reaction: 'retry', cause, ...parts });
  if (error instanceof KnownRefusalError) {
    const { refusal, waitMs } = error;
    const isCredits = lookUpErrorCode(refusal.code)?.class === 'credits';
    return park(isCredits ? 'credits' : 'account', { ...refusal, cause }, { ...context, probeAfterMs: waitMs });
  }
  if (error instanceof SlotsTakenError) {
    return retry(failureCodes.slotsTaken, { expected: true, delayMs: error.retryAfterMs });
  }
  // Another worker may have the profile, or this one after a restart.
  if (error instanceof UnknownAppError) return retry(failureCodes.unknownApp);
  // A paid result waits for a worker that supports the check.
  if (error instanceof CheckUnavailableError) return (isPaid(context) ? retry : fail)(failureCodes.checkUnavailable);
  if (error instanceof CheckNotRunError) return retry(failureCodes.checkNotRun);
  if (error instanceof TokenUnreadableError) {
    return retry(failureCodes.tokenUnreadable, { message: `App ${context.app}: ${message}.` });
  }
  if (error instanceof NoticeNotSentError) return retry(failureCodes.noticeNotSent);
  if (error instanceof RunFileError) return fail(error.code);
  if (error instanceof RefusedPlanError) {
    return ApplicationFailure.create({
      message: wellFormed(message),
      type: error.code,
      nonRetryable: true,
      details: [{ problems: error.problems, warnings: error.warnings, ...defined({ notifies: context.notifies }) }],
    });
  }
  if (context.sentUnrepeatable === true || error instanceof UnknownSubmitError) {
    return outcomeUnknown(context, message, { cause });
  }
  if (context.step === 'plan' && context.attempt >= maxSurprises && isDefect(cause)) {
    const advice = `The plan has failed in this way ${context.attempt} times: this program, or what it was given, is defective. The worker's log has the details; please report them, and run the batch again when that is mended.`;
    return build(context, { code: failureCodes.unexpected, message: `${message} ${advice}`, reaction: 'fail', cause });
  }
  return retry(failureCodes.unexpected);
}

/** Not caused by the system, the network or Temporal, so another attempt would fail in the same way. */
function isDefect(error: Error): boolean {
  const passes = (each: unknown) => each instanceof ServiceError || systemErrorCode(each) !== undefined;
  return !passes(error) && !passes(error.cause);
}

/** Whether the response did not come from the service: a gateway's page, a body of another size, or a file that breaks its checker. */
export function isUnreadable(error: unknown): boolean {
  if (error instanceof CheckNotRunError) return error.mayBeOfResult;
  if (error instanceof StorageError) return error.code === 'SIZE_MISMATCH';
  return error instanceof ConversionApiError && error.code === 'UNREADABLE_RESPONSE';
}

/** Whether the service reported the task or its result as missing. */
export function saysMissing(error: unknown): boolean {
  const known = error instanceof ConversionApiError ? lookUpErrorCode(error.code)?.class : undefined;
  return known === 'chain' || known === 'expired';
}

/** Whether a rate limit, reserved slots or a known refusal ended the attempt before it did anything. */
export function endedByRateLimit(error: unknown): 'throttled' | 'unsent' | undefined {
  if (error instanceof KnownRefusalError || error instanceof SlotsTakenError) return 'unsent';
  if (!(error instanceof ConversionApiError)) return undefined;
  if (error.code === 'RATE_LIMIT_WAIT') return 'unsent';
  return classOf(error) === 'rate' ? 'throttled' : undefined;
}

function fromApiError(error: ConversionApiError, context: FailureContext): Error {
  if (error.code === 'REQUEST_ABORTED' && error.cause instanceof CancelledFailure) return error.cause;
  const known = lookUpErrorCode(error.code);
  const unlisted = known === undefined && !isClientErrorCode(error.code);
  const { code, httpStatus, endpoint } = error;
  const base = { origin: 'request', code, unlisted, cause: error, httpStatus, endpoint } as const;
  const message = withAdvice(error.message, error.code, context);

  // The callback's task is unknown to this app, so the submit's outcome is still unknown.
  if (context.taskIsHint === true && (known?.class === 'caller' || (known?.class === 'chain' && isGone(context)))) {
    return unknown(context, message, base);
  }
  // The outcome is unknown: the workflow decides, and no retry is made.
  if (context.step === 'submit' && error.mayHaveExecuted) {
    return outcomeUnknown(context, error.message, { ...base, orderedWaitMs: orderedWaitOf(error) });
  }
  if (context.mayHaveOtherToken === true) {
    return build(context, { ...base, message, reaction: 'retry', expected: true, delayMs: otherTokenPauseMs });
  }
  const parkedFor = parkReasonOf(error, context);
  if (parkedFor !== undefined) return park(parkedFor, { ...base, message }, context);
  return build(context, { ...base, message, ...reactionTo(error, context) });
}

/** The reason for which this refusal parks a job; undefined if it does not. */
export function parkReasonOf({ code }: ConversionApiError, context: FailureContext): 'credits' | 'account' | undefined {
  const known = lookUpErrorCode(code);
  // At a check only the poll was refused; the task has its vCredits.
  if (known?.class === 'credits' && context.step !== 'check') return 'credits';
  const isParked = known?.refusesAccount === true && (isPaid(context) || context.parking?.parksRefused === true);
  return isParked && !context.mayHaveOtherToken ? 'account' : undefined;
}

/** While the job is parked for the same reason, its activity retries; otherwise the failure parks the job. */
function park(
  parkedFor: ParkReason,
  parts: Omit<FailureParts, 'reaction' | 'parkedFor'>,
  context: FailureContext,
): ApplicationFailure {
  const { parking: { parked } = {}, serverNow = Date.now, attempt, pauses = defaultPauses } = context;
  const leftMs = parked?.reason === parkedFor ? parked.until - serverNow() : 0;
  if (leftMs <= 0) return build(context, { ...parts, reaction: 'park', parkedFor });
  const { probeAfterMs = nextPauseMs(pauses, attempt) } = context;
  // Jitter: many jobs wait for the same thing, and one of them probes for all.
  const delayMs = Math.ceil(Math.min(probeAfterMs * (1 + Math.random() / 10), leftMs));
  return build(context, { ...parts, reaction: 'retry', expected: true, delayMs });
}

function outcomeUnknown(context: FailureContext, reason: string, parts: Partial<FailureParts>): ApplicationFailure {
  return unknown(context, `${reason} It is not known whether the conversion runs.`, parts);
}

function unknown(context: FailureContext, message: string, parts: Partial<FailureParts>): ApplicationFailure {
  const { outcomeUnknown: code } = failureCodes;
  return build(context, { ...parts, code, unlisted: false, message, reaction: 'outcomeUnknown' });
}

function fromStorageError(error: StorageError, context: FailureContext): ApplicationFailure {
  const { code, message, retryable } = error;
  if (code === 'SIZE_MISMATCH' && (context.unreadableInARow ?? 1) >= maxUnreadableAnswers) {
    return build(context, { code: 'UNREADABLE_RESPONSE', message, reaction: 'fail', cause: error });
  }
  const { step } = context;
  const isFull = code === 'DESTINATION_FULL';
  if (isFull && step !== 'batch' && step !== 'plan') {
    return park('room', { code, message, cause: error, neededBytes: context.neededBytes }, context);
  }
  // Records of paid conversions are retried until an operator fixes the problem. A plan costs nothing, so it waits only for room.
  const isRetried = retryable || (step === 'plan' && isFull) || (step === 'batch' && code !== 'UNSUPPORTED_URI');
  return build(context, { code, message, reaction: isRetried ? 'retry' : 'fail', cause: error });
}

/** Adds advice to a message if the code is the document's, or neither the document's nor ours. */
export function withAdvice(text: string, code: string, context: FailureContext): string {
  const known = lookUpErrorCode(code);
  // The service's message may end without a full stop.
  const message = text.replace(/[^.!?]$/, '$&.');
  if (!known) return isOurs(code) ? text : `${message} ${adviceOfOthers}`;
  // For an accepted task, the job itself says how to get the result.
  const { advice } = known.class === 'chain' && isPaid(context) ? {} : known;
  return advice === undefined ? text : `${message} ${advice.replace('[APP]', context.app)}`;
}

function isOurs(code: string): boolean {
  return isClientErrorCode(code) || code.startsWith('HTTP_');
}

interface FailureParts {
  code: string;
  /** Default: `worker`. */
  origin?: FailureOrigin;
  orderedWaitMs?: number | undefined;
  unlisted?: boolean;
  message: string;
  reaction: JobReaction | 'retry';
  parkedFor?: ParkReason | undefined;
  /** Routine: no error log, no failure metric. */
  expected?: boolean;
  delayMs?: number | undefined;
  httpStatus?: number | undefined;
  endpoint?: string;
  neededBytes?: number | undefined;
  cause?: Error;
}

export function build(context: FailureContext, parts: FailureParts): ApplicationFailure {
  const { code, message, reaction, origin = 'worker', orderedWaitMs, httpStatus, endpoint, neededBytes } = parts;
  const { pauses, attempt, requests, taskId } = context;
  const isRetried = reaction === 'retry';
  const details: ActivityFailureDetails = defined({
    code,
    unlisted: whenTrue(parts.unlisted),
    reaction: isRetried ? 'fail' : reaction,
    parkedFor: parts.parkedFor,
    origin,
    orderedWaitMs,
    requests,
    httpStatus,
    endpoint,
    taskId,
    neededBytes,
    notifies: context.notifies,
    callback: whenTrue(context.callback),
  });
  const pauseMs = parts.delayMs ?? (pauses && isRetried ? nextPauseMs(pauses, attempt) : undefined);
  const delayMs =
    orderedWaitMs === undefined && pauseMs !== undefined ? withinDeadlineMs(pauseMs, context.leftMs?.()) : pauseMs;
  const failure = ApplicationFailure.create({
    message: wellFormed(message),
    type: wellFormed(code),
    nonRetryable: !isRetried,
    details: [details],
    ...(delayMs !== undefined && { nextRetryDelay: delayMs }),
    ...(parts.expected === true && { category: ApplicationFailureCategory.BENIGN }),
    ...(parts.cause && { cause: shortCause(parts.cause) }),
  });
  failure.stack = shortStack(failure);
  return failure;
}

function whenTrue(flag: boolean | undefined): true | undefined {
  return flag === true ? true : undefined;
}

export class UnknownAppError extends Error {
  override readonly name = 'UnknownAppError';
}

/** Temporal replaces a failure larger than 4 KiB by one without its code. */
const maxMessageLength = 200;
const maxFrames = 4;
const maxDepth = 2;

/** A copy of an error and its causes, short enough for a failure: zod's errors, for example, list every issue. */
function shortCause(error: Error, depth = 1): Error {
  const cause = error.cause instanceof Error && depth < maxDepth ? { cause: shortCause(error.cause, depth + 1) } : {};
  const short = new Error(cut(error.message), cause);
  short.name = error.name;
  short.stack = shortStack(error);
  return short;
}

function shortStack({ name, message, stack = '' }: Error): string {
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line));
  return [`${name}: ${cut(message)}`, ...frames.slice(0, maxFrames)].join('\n');
}

function cut(message: string): string {
  return wellFormed(message.length > maxMessageLength ? `${message.slice(0, maxMessageLength)}…` : message);
}
