import { isGrpcServiceError } from '@temporalio/client';
import { BatchRunningError } from './batch-handle';
import { InvalidRequestError } from './job-request';

/** gRPC's statuses that the server answers with instead of doing what it was asked; all others may have come after it. */
const refusals: readonly number[] = [3, 5, 6, 7, 9, 12, 16];

/** Whether it is certain that a batch was not started. */
export function isRefusedStart(error: unknown): boolean {
  if (error instanceof BatchRunningError || error instanceof InvalidRequestError) return true;
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  // The enum of gRPC's statuses belongs to a package that is not ours to import.
  return isGrpcServiceError(cause) && refusals.includes(cause.code);
}
