import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { types } from 'node:util';
import { CommandError, runCommand } from './run-command';

/** The command line of a process; `undefined` when there is no such process, or only its zombie. */
export async function commandLineOf(pid: number): Promise<string | undefined> {
  if (process.platform === 'linux') {
    const text = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    return text === '' ? undefined : text.replaceAll('\0', ' ');
  }
  try {
    // `ps` needs nothing of the environment but a PATH to be found on.
    const env = { PATH: '/bin:/usr/bin' };
    const text = await runCommand('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { env, timeoutMs: 5_000 });
    return text.trim() === '' || text.includes('<defunct>') ? undefined : text.trim();
  } catch (error) {
    if (error instanceof CommandError) return undefined;
    throw error;
  }
}

/**
 * Ends a process by its id: SIGTERM, then SIGKILL when it has not ended after `graceMs`. `stillRuns` says whether the
 * id still belongs to the process that is meant, since the system gives ids out again.
 */
export async function endProcess(
  pid: number,
  options: { graceMs: number; stillRuns: () => boolean | Promise<boolean> },
): Promise<void> {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    if (!(await options.stillRuns())) return;
    try {
      process.kill(pid, signal);
    } catch (error) {
      if (types.isNativeError(error) && 'code' in error && error.code === 'ESRCH') return;
      throw error;
    }
    const deadline = Date.now() + options.graceMs;
    while (Date.now() < deadline) {
      if (!(await options.stillRuns())) return;
      await sleep(20);
    }
  }
}
