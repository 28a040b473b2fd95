import { systemErrorCode } from 'temporal-file-conversion/messages';
import type { ProcessContext } from '../command-context';
import { exitCodes } from '../command-error';
import { eraseEcho } from '../output/output';

/** Aborts when this process is asked to end: by SIGTERM, Ctrl-C, or the end of its terminal. Ctrl-C again ends it at once. */
export function untilAskedToEnd({ process, stderr }: Pick<ProcessContext, 'process' | 'stderr'>): AbortSignal {
  const controller = new AbortController();
  const end = () => controller.abort();
  // Also a second time, which must not end it at once: two `fileconv down`, or a terminal and its shell that end together.
  process.on('SIGTERM', end);
  process.on('SIGHUP', end);
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
