import { systemErrorCode } from 'temporal-file-conversion/messages';
import type { ProcessContext } from '../command-context';
import { eraseEcho } from '../output/output';

/** Aborts when this process is asked to end: by SIGTERM, Ctrl-C, or the end of its terminal. */
export function untilAskedToEnd({ process, stderr }: Pick<ProcessContext, 'process' | 'stderr'>): AbortSignal {
  const controller = new AbortController();
  const end = () => controller.abort();
  process.once('SIGTERM', end);
  process.once('SIGINT', () => {
    if (stderr.isTTY) stderr.write(eraseEcho);
    end();
  });
  process.once('SIGHUP', end);
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
