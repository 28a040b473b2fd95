import { shellWord } from 'temporal-file-conversion/internal/batch/report/wording';
import { BatchFailedError } from 'temporal-file-conversion/internal/client/batch-handle';
import { CommandError } from '../command-error';

/** Of a workflow that somebody ended, or that ran out of time: what it had not come to is still to do. */
const endedFromOutside: readonly string[] = ['TERMINATED', 'TIMED_OUT', 'CANCELLED'];

/** What to throw when a batch has no result; any other error comes back as it is. */
export function explainBatchFailure(error: unknown): unknown {
  if (!(error instanceof BatchFailedError)) return error;
  const { batch, code, message } = error;
  const next = `Jobs in flight go on. What is left is done by: fileconv batch retry ${shellWord(batch)}`;
  const text = endedFromOutside.includes(code) ? `${message.replace(/\.?$/, '.')} ${next}` : message;
  return new CommandError('BATCH_FAILED', [text], { cause: error });
}
