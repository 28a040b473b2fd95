import { z } from 'zod';

/** Errors are recognised by their fields, not by `instanceof`: inside jest or a vm, Node's own errors come from another realm. */

const caughtSchema = z.object({
  message: z.string().optional().catch(undefined),
  stack: z.string().optional().catch(undefined),
  code: z.string().optional().catch(undefined),
  syscall: z.string().optional().catch(undefined),
  statusCode: z.number().optional().catch(undefined),
});

type Caught = z.infer<typeof caughtSchema>;

/** The fields of an error that are read here; empty for a value that is not an error. */
export function inspectError(error: unknown): Caught {
  return caughtSchema.safeParse(error).data ?? {};
}

export function messageOf(error: unknown): string {
  return inspectError(error).message ?? String(error);
}

/** The answer when the disk is full: not the client's fault, and likely over when files have expired. */
export const outOfSpaceMessage = 'The service has no space left for files. Try again later, when others have expired.';

export function isOutOfSpace(error: unknown): boolean {
  const { code } = inspectError(error);
  return code === 'ENOSPC' || code === 'EDQUOT';
}
