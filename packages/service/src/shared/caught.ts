import { z } from 'zod';

/**
 * What a caught value says. Looked at by its fields, not by `instanceof Error`: errors of Node's own come from another realm where
 * this package runs inside jest or a vm.
 */

const caughtSchema = z.object({
  message: z.string().optional().catch(undefined),
  stack: z.string().optional().catch(undefined),
  code: z.string().optional().catch(undefined),
  syscall: z.string().optional().catch(undefined),
  statusCode: z.number().optional().catch(undefined),
});

type Caught = z.infer<typeof caughtSchema>;

/** The fields of an error that are looked at anywhere; empty for a value that is no error. */
export function inspectError(error: unknown): Caught {
  return caughtSchema.safeParse(error).data ?? {};
}

export function messageOf(error: unknown): string {
  return inspectError(error).message ?? String(error);
}

/** What a client is told when the disk is full: nothing of its own doing, and likely over when files have expired. */
export const outOfSpaceMessage = 'The service has no space left for files. Try again later, when others have expired.';

export function isOutOfSpace(error: unknown): boolean {
  const { code } = inspectError(error);
  return code === 'ENOSPC' || code === 'EDQUOT';
}
