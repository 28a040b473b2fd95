import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { homedir } from 'node:os';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { printable } from '../messages/wording';
import { limitTime } from '../network/time-limit';
import { isProgram } from '../storage/folders';
import { CheckNotRunError } from './errors';

/** The operator's program that checks each result. Exit code 0 means good. */
export interface CheckCommand {
  /** Program and arguments, to which the result's path is appended. Not run by a shell. */
  readonly argv: readonly string[];
  /** Default: 5 minutes. */
  readonly limitMs?: number | undefined;
}

const defaultLimitMs = 300_000;
const maxReasonLength = 300;
const keptBytes = 4_096;
/** Time to read the remaining output after the program has ended. */
const lastWordsMs = 1_000;
/** Exit codes of a shell or another launcher for a missing program. */
const notStarted = [126, 127];

const folders = ['/usr/local/bin', '/usr/bin', '/bin'];

/** Whether the program exists: a full path, or a name in one of the usual folders. */
export function canStart({ argv: [program = ''] }: CheckCommand): Promise<boolean> {
  return isProgram(program, folders);
}

/**
 * Why the program rejects a file, to continue "the result …"; undefined if it is good.
 * @throws CheckNotRunError if the program could not be started, was killed or took too long; the reason of `signal`
 */
export async function problemByCommand(
  file: string,
  { argv: [program = '', ...args], limitMs = defaultLimitMs }: CheckCommand,
  signal: AbortSignal,
): Promise<string | undefined> {
  signal.throwIfAborted();
  const name = printable(path.basename(program));
  const cwd = path.dirname(file);
  // Not the worker's environment, which may contain tokens.
  const env = { PATH: folders.join(':'), HOME: homedir(), TMPDIR: cwd, LANG: 'C.UTF-8' };
  // In its own process group, so that its child processes are killed too.
  const child = spawn(program, [...args, file], { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const limit = limitTime(signal, limitMs);
  // A process that has left the group may keep the pipes open forever.
  const stopReading = () => [child.stdout, child.stderr].forEach((stream) => stream.destroy());
  const kill = () => {
    // Once it has ended, its pid may belong to another process.
    if (child.exitCode === null && child.signalCode === null) killGroup(child.pid);
    stopReading();
  };
  limit.signal.addEventListener('abort', kill);
  child.once('exit', () => {
    killGroup(child.pid);
    setTimeout(stopReading, lastWordsMs).unref();
  });
  const printed = [child.stderr, child.stdout].map(beginningOf);
  const [code, endedBy] = (await once(child, 'close')
    .catch((error: unknown) => {
      throw new CheckNotRunError(`${name} could not be started: ${(error as Error).message}`);
    })
    .finally(() => limit.end())) as [number | null, NodeJS.Signals | null];
  signal.throwIfAborted();
  if (limit.isOver) throw new CheckNotRunError(`${name} took longer than ${limitMs / 1_000} seconds`, true);
  if (code === 0) return undefined;
  const isStarted = !notStarted.includes(code ?? 0);
  if (code === null || !isStarted || code > 128) {
    throw new CheckNotRunError(`${name} has ended with ${endedBy ?? `code ${code ?? '?'}`}`, isStarted);
  }
  const line = printed.map((text) => firstLine(text(), file)).find((text) => text !== '');
  return `is refused by ${name}${line === undefined ? ` (code ${code})` : `: ${line}`}`;
}

function killGroup(leader = 0): void {
  try {
    if (leader > 0) process.kill(-leader, 'SIGKILL');
  } catch {
    // The group has ended.
  }
}

/** Reads to the end, so that the writer never blocks, and keeps the beginning. The stream is missing if no more files can be opened. */
function beginningOf(stream: Readable | undefined): () => string {
  let kept = Buffer.alloc(0);
  stream?.on('data', (chunk: Buffer) => {
    if (kept.length < keptBytes) kept = Buffer.concat([kept, chunk]).subarray(0, keptBytes);
  });
  return () => kept.toString('utf8');
}

/** Hides the temporary path, which means nothing to the reader. */
function firstLine(text: string, file: string): string {
  const line = text.split(/[\r\n]+/).find((each) => each.trim() !== '') ?? '';
  return printable(line.trim().replaceAll(file, 'the result')).slice(0, maxReasonLength);
}
