import {
  isGrpcServiceError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
  type WorkflowHandle,
} from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { updateRefused } from '../shared/names';
import { InvalidRequestError } from './job-request';

/** A worker that is there answers sooner. */
const answerWithinMs = 3_000;
/** gRPC PERMISSION_DENIED, UNIMPLEMENTED, and RESOURCE_EXHAUSTED while too many Updates wait. */
const noUpdates: readonly number[] = [7, 12, 8];

/**
 * Tells a workflow something by the Update of this name, and returns its answer. If no worker answers, by the signal of
 * the same name, which waits for one; then there is no answer. The same if the server takes no Update.
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
    if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError || takesNoUpdate(error)) {
      await workflow.signal(name, ...args);
      return undefined;
    }
    throw explainRefusal(error);
  }
}

function takesNoUpdate(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return isGrpcServiceError(cause) && noUpdates.includes(cause.code);
}

function explainRefusal(error: unknown): unknown {
  if (!(error instanceof WorkflowUpdateFailedError)) return error;
  const { cause } = error;
  const isRefused = cause instanceof ApplicationFailure && cause.type === updateRefused;
  return isRefused ? new InvalidRequestError(cause.message, { cause: error }) : error;
}
