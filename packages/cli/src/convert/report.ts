import type { ConversionHandle } from 'temporal-file-conversion/internal/client/conversion-handle';
import { readPendingStep } from 'temporal-file-conversion/internal/client/operations/job-waiting';
import type { OutputFile } from 'temporal-file-conversion/internal/shared/job';
import { fileSize, printable } from 'temporal-file-conversion/internal/shared/wording';
import type { CommandContext } from '../command-context';
import { exitCodes, type ExitCode } from '../command-error';
import type { Output } from '../output/output';
import { columnsOf, fitMiddle } from '../output/text';
import { stallJson, stallText, type Stall } from '../waiting/stall';
import { shownPath } from './plan';

/** How one file ended; part of `--json`. */
export interface FileOutcome {
  file: string;
  /** Target format: with several, a file has an outcome for each. */
  to: string;
  /** `unfinished`: the job was started and continues without the command. `notStarted`: the command was interrupted before. */
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
  ending: { interrupted: boolean; outlivesCommand: boolean; pipedFrom: string | undefined; stall: Stall | undefined },
): ExitCode {
  const { interrupted, outlivesCommand, pipedFrom, stall } = ending;
  if (output.json) output.printJson({ files: outcomes, ...(interrupted && stall && stallJson(stall)) });
  const count = (status: FileOutcome['status']) => outcomes.filter((outcome) => outcome.status === status).length;
  if (interrupted) {
    const parts = counts([
      [count('converted') + count('skipped') + count('failed'), 'ended'],
      [count('unfinished'), 'under way'],
      [count('notStarted'), 'not started'],
    ]);
    const next = outlivesCommand
      ? 'Jobs under way continue without this command'
      : 'Jobs under way continue with the next `fileconv up` in this folder';
    const place =
      pipedFrom === undefined
        ? 'their results will be where you asked for them'
        : `the result will be ${pipedFrom}, which the same command again delivers`;
    const fate = count('unfinished') === 0 ? '' : ` ${next}; ${place}.`;
    output.say(`Interrupted: ${parts}.${fate}`);
    if (count('unfinished') > 0 && outlivesCommand) {
      if (stall) output.say(stallText('What is under way', stall));
      output.say('See it continue: fileconv job list');
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

function counts(parts: readonly [count: number, how: string][]): string {
  return parts.flatMap(([count, how]) => (count === 0 ? [] : [`${count} ${how}`])).join(', ');
}

/** Shows a line for each job under way, on a terminal; elsewhere it does nothing. */
export interface JobProgress {
  /** Once it is started, `askStep` is asked what it does, in a few words. */
  begin(job: { file: string; to: string }): { started(askStep: () => Promise<string>): void; end(): void };
  close(): void;
}

interface Line {
  file: string;
  to: string;
  startedAt: number;
  step: string;
  askStep?: () => Promise<string>;
  asking: boolean;
}

const drawEveryMs = 200;
const askEveryDraws = 5;
const maxLines = 10;

export function showProgress(output: Output, total: number): JobProgress {
  const nothing = () => undefined;
  if (!output.isLive) return { begin: () => ({ started: nothing, end: nothing }), close: nothing };
  const lines = new Set<Line>();
  let ended = 0;
  let draws = 0;
  const timer = setInterval(() => {
    if (draws % askEveryDraws === 0) for (const line of shownLines()) void ask(line);
    draws += 1;
    draw();
  }, drawEveryMs);

  function shownLines(): Line[] {
    return [...lines].slice(0, maxLines);
  }
  function draw(): void {
    const drawn = shownLines().map((line) => drawLine(line, output.columns));
    const hidden = lines.size - drawn.length;
    const more = hidden > 0 ? `, ${hidden} more under way` : '';
    output.live(total === 1 ? drawn : [...drawn, `  ${ended} of ${total} done${more}`]);
  }
  return {
    begin({ file, to }) {
      const line: Line = { file: printable(file), to, startedAt: Date.now(), step: 'starting', asking: false };
      lines.add(line);
      return {
        started(askStep) {
          line.askStep = askStep;
          line.step = 'waiting';
        },
        end() {
          lines.delete(line);
          ended += 1;
        },
      };
    },
    close() {
      clearInterval(timer);
      output.live([]);
    },
  };
}

/** Slow answers neither pile up nor delay the drawing. */
async function ask(line: Line): Promise<void> {
  if (!line.askStep || line.asking) return;
  line.asking = true;
  try {
    line.step = printable(await line.askStep());
  } catch {
    line.step = 'no answer from Temporal';
  } finally {
    line.asking = false;
  }
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
