import {
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
  type WorkflowHandle,
} from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { updateRefused } from '../shared/names';
import { InvalidRequestError } from './job-request';

/** A worker that is there answers sooner. */
const answerWithinMs = 3_000;

/**
 * Tells a workflow something by the Update of this name, and returns its answer. If no worker answers, by the signal of
 * the same name, which waits for one; then there is no answer.
 * @throws InvalidRequestError when the workflow refuses.
 */
export async function tell<Answer>(
  workflow: WorkflowHandle,
  name: string,
  args: unknown[] = [],
): Promise<Answer | undefined> {
  try {
    return await workflow.client.withDeadline(Date.now() + answerWithinMs, () =>
      workflow.executeUpdate<Answer, [unknown]>(name, { args: args as [unknown] }),
    );
  } catch (error) {
    if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) {
      await workflow.signal(name, ...args);
      return undefined;
    }
    throw explainRefusal(error);
  }
}

function explainRefusal(error: unknown): unknown {
  if (!(error instanceof WorkflowUpdateFailedError)) return error;
  const { cause } = error;
  const isRefused = cause instanceof ApplicationFailure && cause.type === updateRefused;
  return isRefused ? new InvalidRequestError(cause.message, { cause: error }) : error;
}
