import type { ConversionHandle } from 'temporal-file-conversion/internal/client/conversion-handle';
import { readPendingStep } from 'temporal-file-conversion/internal/client/operations/job-waiting';
import { printable } from 'temporal-file-conversion/internal/shared/wording';
import type { Output } from '../output/output';
import { columnsOf, fitMiddle } from '../output/text';

/** Shows a line for each job under way, on a terminal; elsewhere it does nothing. */
export interface JobProgress {
  begin(job: { file: string; to: string }): ShownJob;
  close(): void;
}

interface ShownJob {
  /** The job runs: from now on `askStep` is asked what it does, in a few words. */
  started(askStep: () => Promise<string>): void;
  end(): void;
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
  if (!output.isLive)
    return { begin: () => ({ started: () => undefined, end: () => undefined }), close: () => undefined };
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
