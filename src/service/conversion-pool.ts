import path from 'node:path';
import { Piscina } from 'piscina';
import { z } from 'zod';
import { inspectError, messageOf } from './caught';
import type { ConversionOutcome, ConversionRequest, Warnings } from './engines/conversion';

/**
 * A thread can only load compiled code, while tests import the source; `src/service` and `dist/service` lie equally deep, so
 * that this path is right from both.
 */
const threadFile = path.resolve(__dirname, '../../dist/service/engines/conversion-thread.js');

/** How long a thread beyond the first waits for work before it ends and gives its memory back. */
const idleTimeoutMs = 60_000;

const closeTimeoutMs = 5_000;

const outcomeSchema = z.intersection(
  z.object({ threadId: z.number(), worn: z.boolean() }),
  z.discriminatedUnion('status', [
    z.object({ status: z.literal('successful'), bytes: z.number(), warnings: z.record(z.string(), z.string()) }),
    z.object({ status: z.literal('failed'), message: z.string() }),
    z.object({ status: z.literal('broken'), message: z.string() }),
  ]),
) satisfies z.ZodType<ConversionOutcome>;

export type PoolOutcome =
  | { status: 'successful'; bytes: number; warnings: Warnings }
  | { status: 'failed' | 'broken'; message: string }
  /** The pool was closed under it; the conversion has to run again. */
  | { status: 'interrupted' };

/** Threads that convert. They start with the first conversion, so that a service starts at once; one stays warm. */
export class ConversionPool {
  readonly #threads: number;
  #piscina: Piscina<ConversionRequest, unknown> | undefined;
  #closed = false;

  constructor(threads: number) {
    this.#threads = threads;
  }

  /** Converts one file. Never throws: whatever happens to the thread is an outcome. */
  async convert(request: ConversionRequest): Promise<PoolOutcome> {
    if (this.#closed) return { status: 'interrupted' };
    const pool = this.#open();
    const limit = AbortSignal.timeout(request.timeoutMs);
    try {
      const outcome = outcomeSchema.parse(await pool.run(request, { signal: limit }));
      if (outcome.worn) await this.#replaceThread(pool, outcome.threadId);
      return outcome;
    } catch (error) {
      if (this.#isClosed()) return { status: 'interrupted' };
      if (limit.aborted) {
        return {
          status: 'failed',
          message: `The conversion took longer than ${describeTime(request.timeoutMs)} and was ended.`,
        };
      }
      return describeCrash(error);
    }
  }

  /** Ends all threads; what they were converting is interrupted. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#piscina?.destroy();
  }

  #isClosed(): boolean {
    return this.#closed;
  }

  #open(): Piscina<ConversionRequest, unknown> {
    this.#piscina ??= new Piscina<ConversionRequest, unknown>({
      filename: threadFile,
      minThreads: 1,
      maxThreads: this.#threads,
      idleTimeout: idleTimeoutMs,
      closeTimeout: closeTimeoutMs,
      // A waiting thread that blocks in Atomics.wait could not run the timers and streams that engines leave behind.
      atomics: 'disabled',
      // The engines' own memory lies outside the JavaScript heap; this bounds documents on their way through it.
      resourceLimits: { maxOldGenerationSizeMb: 1024 },
    });
    return this.#piscina;
  }

  /** A worn thread is between two conversions here, because the queue gives out no more than there are threads. */
  async #replaceThread(pool: Piscina<ConversionRequest, unknown>, threadId: number): Promise<void> {
    await pool.threads.find((thread) => thread.threadId === threadId)?.terminate();
  }
}

function describeCrash(error: unknown): PoolOutcome {
  const message = messageOf(error);
  const { code } = inspectError(error);
  if (code === 'ERR_WORKER_OUT_OF_MEMORY') {
    return {
      status: 'failed',
      message: 'The conversion needs more memory than a conversion may use; split the document.',
    };
  }
  if (code === 'MODULE_NOT_FOUND' || code === 'ERR_MODULE_NOT_FOUND') {
    return { status: 'broken', message: `The conversion thread cannot be loaded; run npm run build. (${message})` };
  }
  return { status: 'broken', message: `The conversion thread ended: ${message}` };
}

function describeTime(ms: number): string {
  return ms < 1000 ? `${ms} ms` : `${Math.round(ms / 1000)} s`;
}
