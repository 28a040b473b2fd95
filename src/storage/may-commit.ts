import { cannotWrite } from './errors';
import type { WriteDestinationOptions } from './file-store';

/** A process that is suspended before every commit gives up after this many checks. */
const maxQuestions = 10;

interface Permission extends Pick<WriteDestinationOptions, 'uri' | 'signal' | 'mayCommit'> {
  /** Rejects if another attempt owns the destination. */
  readonly check?: () => Promise<void>;
}

/**
 * Runs the step that gives the final name, if this attempt may. Nothing is awaited between the last `mayCommit` and the
 * step: a process that is suspended there, and resumes after another attempt has finished, would replace newer results.
 */
export async function whenAllowed<Result>(
  { uri, signal, mayCommit, check }: Permission,
  step: () => Promise<Result>,
): Promise<Result> {
  for (let questions = 0; questions < maxQuestions; questions += 1) {
    // While the last bytes were synced, the job may have been cancelled or the file taken over.
    await check?.();
    signal?.throwIfAborted();
    const answer = mayCommit?.();
    if (answer === undefined) return step();
    await answer;
  }
  const why = 'this process stood still again and again before it could give the file its name.';
  throw cannotWrite(uri, { code: 'STORAGE_FAILED', why, retryable: true });
}
