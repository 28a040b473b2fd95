import { setTimeout as sleep } from 'node:timers/promises';
import { aborted } from './parent-process';

const firstDelayMs = 250;
export const maxDelayMs = 10_000;
const startAttempts = 5;

/** Starts a part for the first time; a start that fails is repeated, after growing pauses, as long as `isWorthAnother` says so. */
export async function startPersistently<Part>(
  start: () => Promise<Part>,
  {
    isWorthAnother,
    onRestart,
    signal,
  }: { isWorthAnother: (error: unknown) => boolean; onRestart: () => void; signal?: AbortSignal | undefined },
): Promise<Part> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await start();
    } catch (error) {
      if (!isWorthAnother(error) || attempt === startAttempts) throw error;
      onRestart();
      await sleep(firstDelayMs * 2 ** (attempt - 1), undefined, { signal });
    }
  }
}

interface KeptPart<Part> {
  exited: (part: Part) => Promise<unknown>;
  /** Undefined when it could not be started; it is then tried again. */
  startAgain: () => Promise<Part | undefined>;
  /** Called once for each part that has ended. */
  onRestart: () => void;
  /** After a part ran for so long, pauses begin at their shortest again. */
  provenAfterMs: number;
  /** Ends the supervision, not the part. */
  signal: AbortSignal;
}

/** Starts a part again whenever it ends unasked, after pauses that double. */
export async function keepRunning<Part>(first: Part, options: KeptPart<Part>): Promise<void> {
  const { exited, startAgain, onRestart, provenAfterMs, signal } = options;
  // A function, since TypeScript would otherwise narrow `aborted` to false for good.
  const isOver = () => signal.aborted;
  const over = aborted(signal);
  let current: Part | undefined = first;
  let delayMs = firstDelayMs;
  for (;;) {
    const startedAt = performance.now();
    if (current !== undefined) {
      await Promise.race([exited(current), over]);
      if (isOver()) return;
      if (performance.now() - startedAt >= provenAfterMs) delayMs = firstDelayMs;
      onRestart();
    }
    await sleep(delayMs, undefined, { signal }).catch(() => undefined);
    if (isOver()) return;
    current = await startAgain();
    delayMs = Math.min(delayMs * 2, maxDelayMs);
  }
}

export function restartNews(part: string, logFile: string): string {
  return `${part} ended unasked; it is started again (log: ${logFile}).`;
}
