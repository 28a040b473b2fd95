import type { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure, CancelledFailure, TerminatedFailure } from '@temporalio/common';

/** How a workflow ended that has no result: the code of its own failure, or `CANCELLED`, `TERMINATED` or `TIMED_OUT`. */
export function endOf({ cause, message }: WorkflowFailedError): { code: string; message: string } {
  if (cause instanceof ApplicationFailure) return { code: cause.type ?? 'FAILED', message: cause.message };
  const ended = `ended without a result: ${cause?.message ?? message}`;
  if (cause instanceof CancelledFailure) return { code: 'CANCELLED', message: ended };
  return { code: cause instanceof TerminatedFailure ? 'TERMINATED' : 'TIMED_OUT', message: ended };
}
