import { inspectError } from './caught';

/** What a client is told when the disk is full: nothing of its own doing, and likely over when files have expired. */
export const outOfSpaceMessage = 'The service has no space left for files. Try again later, when others have expired.';

export function isOutOfSpace(error: unknown): boolean {
  const { code } = inspectError(error);
  return code === 'ENOSPC' || code === 'EDQUOT';
}
