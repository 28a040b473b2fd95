import { systemErrorCode } from 'temporal-file-conversion/messages';
import type { ProcessContext } from '../command-context';
import { exitCodes } from '../command-error';
import { eraseEcho } from '../output/output';

/**
 * Aborts when this process is asked to end: by SIGTERM, Ctrl-C, or the end of its terminal. Ctrl-C again ends it at once. Other signals
 * that come again do so only if it `mayBeForced`: two `fileconv down` must not end a stack in the midst of its end.
 */
export function untilAskedToEnd(
  { process, stderr }: Pick<ProcessContext, 'process' | 'stderr'>,
  { mayBeForced = false } = {},
): AbortSignal {
  const controller = new AbortController();
  const end = () => controller.abort();
  const listen = mayBeForced ? 'once' : 'on';
  process[listen]('SIGTERM', end);
  process[listen]('SIGHUP', end);
  process.once('SIGINT', () => {
    if (stderr.isTTY) stderr.write(eraseEcho);
    end();
    process.once('SIGINT', () => process.exit(exitCodes.interrupted));
  });
  return controller.signal;
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return systemErrorCode(error) === 'EPERM';
  }
}

export function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
}
