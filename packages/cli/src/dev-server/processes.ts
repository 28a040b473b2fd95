import { execFile, type ExecFileException } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

export type Variables = Readonly<Record<string, string | undefined>>;

interface CommandOptions {
  env: Variables;
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/**
 * Runs a command without a shell and returns what it printed. The command is killed when the signal fires.
 * @throws Error of one line if it could not be started, ended with a code other than 0, or took too long.
 */
export async function runCommand(file: string, args: string[], options: CommandOptions): Promise<string> {
  const { env, timeoutMs, signal } = options;
  signal?.throwIfAborted();
  const limits = { timeout: timeoutMs, killSignal: 'SIGKILL', windowsHide: true, ...(signal && { signal }) } as const;
  try {
    return (await promisify(execFile)(file, args, { env: { ...env }, ...limits })).stdout;
  } catch (error) {
    signal?.throwIfAborted();
    const failure = error as ExecFileException;
    // There is no stderr if the command could not be started.
    throw new Error(explain(file, failure, failure.stderr ?? ''), { cause: error });
  }
}

function explain(file: string, error: ExecFileException, stderr: string): string {
  if (error.code === 'ENOENT') return `${file} not found`;
  if (typeof error.code === 'string') return `${file} could not be started (${error.code})`;
  if (error.killed) return `${file} did not finish in time`;
  const lines = stderr.trim().split('\n');
  const line = lines.findLast((each) => /error/i.test(each)) ?? lines.at(-1) ?? '';
  const ending = error.signal ? `was killed by ${error.signal}` : `ended with code ${error.code ?? 'unknown'}`;
  return `${file} ${ending}${line ? `: ${line.trim()}` : ''}`;
}

/** The command line of a process; `undefined` if there is no such process or only its zombie. */
export async function commandLineOf(pid: number): Promise<string | undefined> {
  if (process.platform === 'linux') {
    const text = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    return text === '' ? undefined : text.replaceAll('\0', ' ');
  }
  try {
    // `ps` needs no variable except PATH.
    const env = { PATH: '/bin:/usr/bin' };
    const text = await runCommand('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { env, timeoutMs: 5_000 });
    return text.trim() === '' || text.includes('<defunct>') ? undefined : text.trim();
  } catch {
    return undefined;
  }
}

/** Whether a killed process may still hold its ports: on Linux, its command line goes before its files do. */
export async function isEnding(pid: number): Promise<boolean> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const state = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // The zombie of a process with a single thread holds nothing.
  return threads.length > 1 || (threads.length === 1 && !/\) [ZX] /.test(state));
}

type TemporalServerErrorCode =
  'BINARY_UNAVAILABLE' | 'BINARY_UNUSABLE' | 'LOCK_UNUSABLE' | 'START_FAILED' | 'DATABASE_DAMAGED';

/** A failure to obtain a Temporal binary or to run a server; `code` is stable. */
export class TemporalServerError extends Error {
  override readonly name = 'TemporalServerError';

  constructor(
    readonly code: TemporalServerErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
