import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import type { NoticeData } from 'temporal-file-conversion/job';
import { printable, whyUnreadable } from 'temporal-file-conversion/messages';
import { isProgram } from 'temporal-file-conversion/storage';
import type { CommandContext } from '../command-context';
import { CommandError } from '../command-error';

interface EndedBatch extends Omit<NoticeData, 'app' | 'status'> {
  batch: string;
  /** `failed`: the batch itself failed, not only items. */
  status: string;
}

/**
 * Checks the program up front, so that it does not fail after hours of work.
 * @throws CommandError
 */
export async function requireProgram({ cwd, env }: CommandContext, program: string | undefined): Promise<void> {
  if (program === undefined) return;
  const folders = program.includes('/') ? [cwd] : (env['PATH'] ?? '').split(path.delimiter).filter(Boolean);
  if (await isProgram(program, folders)) return;
  throw new CommandError('INPUT_UNUSABLE', [
    `--on-end: there is no program ${printable(program)} that can be run. It takes the name or path of one program, without arguments; put more into a script.`,
  ]);
}

/**
 * Runs the program of `--on-end` without a shell: `PROGRAM NAME STATUS`, with the batch as JSON on standard input. Its output
 * goes to standard error. Its failure is reported, but changes no exit code.
 */
export async function runOnEnd(
  { cwd, env, output }: CommandContext,
  program: string,
  ended: EndedBatch,
): Promise<void> {
  const child = spawn(program, [ended.batch, ended.status], { cwd, env, stdio: ['pipe', 2, 2] });
  // The program need not read its input.
  child.stdin?.on('error', () => undefined).end(`${JSON.stringify(ended)}\n`);
  const shown = printable(program);
  try {
    const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
    if (code === 0) output.say(`--on-end: ${shown} has run.`);
    else output.warn(`--on-end: ${shown} has ended with ${signal ?? `code ${code ?? 0}`}.`);
  } catch (error) {
    output.warn(`--on-end: ${shown} could not be run: ${whyUnreadable(error)}.`);
  }
}
