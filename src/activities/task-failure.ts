import type { ApplicationFailure } from '@temporalio/common';
import { lookUpErrorCode, type ErrorClass } from '../contract/error-codes';
import { failureCodes, type JobReaction } from '../shared/activities';
import { build, withAdvice, type FailureContext } from './failure';

/** A task that the service completed with an error (section "States and transitions"): it was not charged. */
export function taskFailure(error: { code: string; message: string }, context: FailureContext): ApplicationFailure {
  const known = lookUpErrorCode(error.code);
  const reactions: Record<ErrorClass, JobReaction> = {
    caller: 'fail',
    input: 'fail',
    account: 'fail',
    credits: 'awaitCredits',
    rate: 'submitAgain',
    chain: 'uploadAgain',
    expired: 'uploadAgain',
    server: 'submitAgain',
  };
  return build(context, {
    origin: 'task',
    code: error.code,
    message: withAdvice(`the conversion failed with ${error.code}: ${error.message}`, known?.class, context),
    reaction: known === undefined ? 'fail' : reactions[known.class],
    unlisted: known === undefined,
  });
}

/** A task with an error that was charged for, or called successful: treated as lost, not as free to convert again. */
export function chargedFailure(error: { code: string; message: string }, context: FailureContext): ApplicationFailure {
  const { code, message } = error;
  return build(context, {
    code,
    message: `the conversion failed with ${code}: ${message} But the service charged for it, or calls it successful.`,
    reaction: 'taskLost',
    unlisted: lookUpErrorCode(code) === undefined,
  });
}

export function unknownStatusFailure(status: string | undefined, context: FailureContext): ApplicationFailure {
  const named = JSON.stringify(status ?? 'missing');
  return build(context, {
    code: failureCodes.unknownOutputStatus,
    message: `the task completed without an error, but its output status is ${named} and not "successful".`,
    reaction: 'fail',
  });
}

/** "Not yet": the next attempt follows after `delayMs` and adds nothing to the history. */
export function notFinished(message: string, delayMs: number, context: FailureContext): ApplicationFailure {
  return build(context, { code: failureCodes.notFinished, message, reaction: 'retry', delayMs, expected: true });
}
