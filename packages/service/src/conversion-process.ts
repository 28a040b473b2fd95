import { type ChildProcess, fork } from 'node:child_process';
import { homedir } from 'node:os';
import path from 'node:path';
import { messageOf } from './caught';
import { type ConversionOutcome, conversionOutcomeSchema, type ConversionRequest } from './engines/conversion';

/**
 * A process can only run compiled code, while tests import the source; `src` and `dist` lie equally deep, so
 * that this path is right from both.
 */
const processFile = path.resolve(__dirname, '../dist/engines/conversion-process.js');

/** How a conversion ended: by an answer, or with its process. */
export type ProcessEnding =
  | { by: 'answer'; outcome: ConversionOutcome }
  | { by: 'timeout' }
  | { by: 'exit'; signal: NodeJS.Signals | null; reason: string };

/** A process that converts one file at a time. */
export class ConversionProcess {
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;
  #settle: ((ending: ProcessEnding) => void) | undefined;
  /** Set as soon as the process must not be used any more. */
  #ended: Exclude<ProcessEnding, { by: 'answer' }> | undefined;

  constructor({ maxMemoryBytes }: { maxMemoryBytes: number }) {
    // Half for JavaScript, because most of what engines need lies outside of it.
    const heapMiB = Math.max(64, Math.floor(maxMemoryBytes / 2 / 1024 / 1024));
    this.#child = fork(processFile, [String(maxMemoryBytes), String(process.pid)], {
      // V8 takes each growth of a large WebAssembly memory for memory pressure and begins to mark the whole heap, and pandoc's memory
      // grows in small steps. Marked in other threads too, that is some 30 collections in the first conversions in place of 8.
      execArgv: [`--max-old-space-size=${heapMiB}`, '--no-concurrent-marking'],
      // Nothing of the environment reaches code that works on files from outside; user fonts are looked for below HOME.
      env: { HOME: homedir() },
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      // Ctrl-C is for the service, which decides what becomes of its conversions.
      detached: true,
    });
    this.#exited = new Promise((resolve) => {
      const end = (reason: string, signal: NodeJS.Signals | null = null): void => {
        this.#ended ??= { by: 'exit', signal, reason };
        this.#settle?.(this.#ended);
        resolve();
      };
      this.#child.once('exit', (code, signal) => end(signal ?? `exit code ${code ?? '?'}`, signal));
      // Without a pid it could not be started, and no exit follows.
      this.#child.on('error', (error) => {
        if (this.#child.pid === undefined) end(messageOf(error));
      });
    });
    this.#child.on('message', (message) => {
      if (!this.#ended) this.#settle?.({ by: 'answer', outcome: conversionOutcomeSchema.parse(message) });
    });
  }

  get hasEnded(): boolean {
    return this.#ended !== undefined;
  }

  /** Converts one file. When this resolves, the process does nothing more: it has answered, or it is dead. */
  async convert(request: ConversionRequest): Promise<ProcessEnding> {
    if (this.#ended) return this.#ended;
    const clock = setTimeout(() => {
      this.#ended ??= { by: 'timeout' };
      this.#child.kill('SIGKILL');
    }, request.timeoutMs);
    try {
      return await new Promise<ProcessEnding>((settle) => {
        this.#settle = settle;
        // A message that does not arrive is followed by the exit.
        this.#child.send(request, () => undefined);
      });
    } finally {
      clearTimeout(clock);
      this.#settle = undefined;
    }
  }

  /** Ends the process, whatever it is doing, and waits until it is gone. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#exited;
  }
}
