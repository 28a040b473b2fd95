import { toUri } from 'temporal-file-conversion/internal/client/job-request';
import type { ConversionHandle } from 'temporal-file-conversion/internal/client/conversion-handle';
import { readPendingStep } from 'temporal-file-conversion/internal/client/operations/job-waiting';
import type { BatchItemResult } from 'temporal-file-conversion/internal/shared/batch';
import { defined } from 'temporal-file-conversion/internal/shared/defined';
import type { OutputFile } from 'temporal-file-conversion/internal/shared/job';
import { fileSize, printable, shellWord } from 'temporal-file-conversion/internal/shared/wording';
import { shownPath as pathOf } from 'temporal-file-conversion/internal/storage/file-uri';
import type { CommandContext } from '../command-context';
import { exitCodes, type ExitCode } from '../command-error';
import type { Output } from '../output/output';
import { columnsOf, fitMiddle } from '../output/text';
import { stallJson, stallText, type Stall } from '../waiting/stall';
import { shownPath, type PlannedResult } from './plan';

/** How one file ended; part of `--json`. */
export interface FileOutcome {
  file: string;
  /** Target format: with several, a file has an outcome for each. */
  to: string;
  /** `unfinished`: the command was interrupted before, and the conversion goes on without it. */
  status: 'converted' | 'skipped' | 'failed' | 'unfinished';
  workflowId?: string;
  /** An earlier command had started the job or the batch. */
  joined?: true;
  output?: OutputFile & { path: string };
  /** From the start of its job until the end, or until the command's. */
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
    if (status === 'skipped' && !progress.isPiped) {
      const why = result
        ? `was converted before: ${shownPath(result.path, cwd)}. To convert it again: --again`
        : 'skipped: its result exists';
      output.print(`${count}${printable(`${file} ${why}`)}`);
    }
  }
  if (error) output.fail(printable(error.message));
  for (const [name, advice] of Object.entries(outcome.warnings ?? {}))
    output.warn(printable(`${file}: ${name}: ${advice}`));
  if (outcome.possiblyChargedTwice)
    output.warn(`${printable(file)}: the service may have charged this conversion twice.`);
}

/** What a job or an item of a batch tells of its end, if it is none that failed. */
export function resultOf(
  ended: Pick<BatchItemResult, 'output' | 'possiblyChargedTwice' | 'warnings'> & { status: 'succeeded' | 'skipped' },
) {
  const { status, output, possiblyChargedTwice = false, warnings = {} } = ended;
  return {
    status: status === 'skipped' ? ('skipped' as const) : ('converted' as const),
    ...(output && { output: { ...output, path: pathOf(output.uri) } }),
    possiblyChargedTwice,
    warnings,
  };
}

/** In terms of what was typed: paths instead of URIs, and the file as it was named. */
export function explainFailure(
  { code, message }: { code: string; message: string },
  { input, to, destination }: PlannedResult,
  cwd: string,
): NonNullable<FileOutcome['error']> {
  const ownSummary = /^.*? → \S+: /u;
  const text = message
    .replace(ownSummary, '')
    .replaceAll(toUri(input.location), () => input.file)
    .replaceAll(toUri(destination), () => shownPath(destination, cwd));
  return { code, message: `${input.file} → ${to}: ${text}` };
}

interface Ending {
  interrupted: boolean;
  outlivesCommand: boolean;
  pipedFrom: string | undefined;
  /** That converts the files, if they are several. */
  batch: string | undefined;
  stall: Stall | undefined;
}

/** The end of the command: the JSON document, or what a person still has to know. */
export function report(output: Output, outcomes: readonly FileOutcome[], ending: Ending): ExitCode {
  const { interrupted, batch, stall } = ending;
  if (output.json) {
    output.printJson({ ...defined({ batch }), files: outcomes, ...(interrupted && stall && stallJson(stall)) });
  }
  const count = (status: FileOutcome['status']) => outcomes.filter((outcome) => outcome.status === status).length;
  const [failed, unfinished] = [count('failed'), count('unfinished')];
  if (interrupted) {
    const parts = counts([
      [outcomes.length - unfinished, 'ended'],
      [unfinished, 'to come'],
    ]);
    output.say(`Interrupted: ${parts}.${unfinished === 0 ? '' : ` ${fateOf(ending)}`}`);
    if (unfinished > 0 && ending.outlivesCommand) {
      if (stall) output.say(stallText('What is under way', stall));
      const see = batch === undefined ? 'fileconv job list' : `fileconv batch status ${shellWord(batch)}`;
      output.say(`See it continue: ${see}`);
    }
    return exitCodes.interrupted;
  }
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

function fateOf({ outlivesCommand, pipedFrom, batch }: Ending): string {
  const what = batch === undefined ? 'The job continues' : `Batch ${batch} continues`;
  const when = outlivesCommand ? 'without this command' : 'with the next `fileconv up` in this folder';
  if (pipedFrom !== undefined) {
    return `${what} ${when}; the result will be ${pipedFrom}, which the same command again delivers.`;
  }
  return `${what} ${when}; results will be where you asked for them. The same command again waits for them.`;
}

function counts(parts: readonly [count: number, how: string][]): string {
  return parts.flatMap(([count, how]) => (count === 0 ? [] : [`${count} ${how}`])).join(', ');
}

const drawEveryMs = 200;
const askEveryDraws = 5;

/** On a terminal, a line that tells what a job does, as `ask` tells in a few words, until it is closed. */
export function showStep(
  output: Output,
  { file, to, ask }: { file: string; to: string; ask: () => Promise<string> },
): { close(): void } {
  if (!output.isLive) return { close: () => undefined };
  const startedAt = Date.now();
  let step = 'starting';
  let isAsking = false;
  let draws = 0;
  // Slow answers neither pile up nor delay the drawing.
  const look = async (): Promise<void> => {
    if (isAsking) return;
    isAsking = true;
    step = printable(await ask().catch(() => 'no answer from Temporal'));
    isAsking = false;
  };
  const timer = setInterval(() => {
    if (draws % askEveryDraws === 0) void look();
    draws += 1;
    output.live([drawLine({ file: printable(file), to, startedAt, step }, output.columns)]);
  }, drawEveryMs);
  return {
    close() {
      clearInterval(timer);
      output.live([]);
    },
  };
}

interface Line {
  file: string;
  to: string;
  startedAt: number;
  step: string;
}

/** The file name is shortened first: the step and the time are what changes. */
function drawLine({ file, to, startedAt, step }: Line, columns: number): string {
  const seconds = Math.floor((Date.now() - startedAt) / 1_000);
  const before = `${String(seconds).padStart(5)} s  `;
  const after = ` → ${to}  ${step}`;
  const room = Math.max(12, columns - columnsOf(before) - columnsOf(after));
  return `${before}${fitMiddle(file, room)}${after}`;
}

/** What a job does now, in a few words. Asks Temporal alone, so that it works without a worker. */
export async function currentStep(handle: ConversionHandle): Promise<string> {
  const pending = readPendingStep(await handle.describe());
  if (!pending) return 'waiting';
  const { step, attempt, lastFailure } = pending;
  // That a conversion is not finished is no failure worth showing.
  if (lastFailure === undefined || step === 'converting') return step;
  return `${step} (attempt ${attempt}: ${lastFailure})`;
}
