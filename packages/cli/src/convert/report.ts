import type { OutputFile } from 'temporal-file-conversion/internal/shared/job';
import { fileSize, printable } from 'temporal-file-conversion/internal/shared/wording';
import type { CommandContext } from '../command-context';
import { exitCodes, type ExitCode } from '../command-error';
import type { Output } from '../output/output';
import { stallJson, stallText, type Stall } from '../waiting/stall';
import { shownPath } from './plan';

/** How one file ended; part of `--json`. */
export interface FileOutcome {
  /** As it was typed. */
  file: string;
  /** Target format: with several, a file has an outcome for each. */
  to: string;
  /** `unfinished`: the job was started and goes on without the command. `notStarted`: the command was interrupted before. */
  status: 'converted' | 'skipped' | 'failed' | 'unfinished' | 'notStarted';
  workflowId?: string;
  /** An earlier command had started the job. */
  joined?: true;
  output?: OutputFile & { path: string };
  /** From the start of the job until its end, or until the command's. */
  seconds: number;
  possiblyChargedTwice?: boolean;
  /** The service's warnings: name, and how to resolve it. */
  warnings?: Record<string, string>;
  error?: { code: string; message: string };
}

export function announce(
  { output, cwd }: CommandContext,
  outcome: FileOutcome,
  progress: { done: number; total: number; isPiped: boolean },
): void {
  const { file, status, output: result, error, seconds } = outcome;
  const count = progress.total === 1 ? '' : output.colors.dim(`[${progress.done}/${progress.total}] `);
  if (!output.json) {
    if (status === 'converted' && result) {
      const target = progress.isPiped ? 'standard output' : printable(shownPath(result.path, cwd));
      output.print(`${count}${printable(file)} → ${target} (${fileSize(result.bytes)}, ${seconds.toFixed(1)} s)`);
    }
    if (status === 'skipped' && !progress.isPiped)
      output.print(`${count}${printable(file)} skipped: its result exists`);
  }
  if (error) output.fail(printable(error.message));
  for (const [name, advice] of Object.entries(outcome.warnings ?? {}))
    output.warn(printable(`${file}: ${name}: ${advice}`));
  if (outcome.possiblyChargedTwice)
    output.warn(`${printable(file)}: the service may have charged this conversion twice.`);
}

/** The end of the command: the JSON document, or what a person still has to know. */
export function report(
  output: Output,
  outcomes: readonly FileOutcome[],
  {
    interrupted,
    outlivesCommand,
    pipedFrom,
    stall,
  }: {
    interrupted: boolean;
    outlivesCommand: boolean;
    pipedFrom?: string | undefined;
    stall?: Stall | undefined;
  },
): ExitCode {
  if (output.json) output.printJson({ files: outcomes, ...(interrupted && stall && stallJson(stall)) });
  const count = (status: FileOutcome['status']) => outcomes.filter((outcome) => outcome.status === status).length;
  if (interrupted) {
    const parts = counts([
      [count('converted') + count('skipped') + count('failed'), 'ended'],
      [count('unfinished'), 'under way'],
      [count('notStarted'), 'not started'],
    ]);
    const next = outlivesCommand
      ? 'Jobs under way go on without this command'
      : 'Jobs under way go on with the next `fileconv up` in this folder';
    const place =
      pipedFrom === undefined
        ? 'their results will be where you asked for them'
        : `the result will be ${pipedFrom}, which the same command again delivers`;
    const fate = count('unfinished') === 0 ? '' : ` ${next}; ${place}.`;
    output.say(`Interrupted: ${parts}.${fate}`);
    if (count('unfinished') > 0 && outlivesCommand) {
      if (stall) output.say(stallText('What is under way', stall));
      output.say('See it go on: fileconv job list');
    }
    return exitCodes.interrupted;
  }
  const failed = count('failed');
  if (outcomes.length > 1) {
    const ended = counts([
      [count('converted'), 'converted'],
      [count('skipped'), 'skipped'],
      [failed, 'failed'],
    ]);
    output.say(`${ended}.`);
  }
  return failed === 0 ? exitCodes.ok : exitCodes.failed;
}

/** Without those that are 0. */
function counts(parts: readonly [count: number, how: string][]): string {
  return parts.flatMap(([count, how]) => (count === 0 ? [] : [`${count} ${how}`])).join(', ');
}
