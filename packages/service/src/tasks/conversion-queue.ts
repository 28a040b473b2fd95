import { EventEmitter } from 'node:events';
import { endpoints, type KnownErrorCode } from 'temporal-file-conversion/contract';
import type { Log } from 'temporal-file-conversion/messages';
import { fileLifetimeSeconds } from '../accounts/account';
import type { Accounts } from '../accounts/accounts';
import { triesByEnd } from '../engines/conversion';
import type { ConversionPool, PoolOutcome } from '../engines/process/conversion-pool';
import { type FormatCatalog, requireFormat, requireRoute } from '../engines/formats';
import { baseName } from '../files/file-name';
import { type ServiceFiles, missingFile } from '../files/file-store';
import { messageOf } from '../shared/caught';
import type { ServiceLimits } from '../shared/limits';
import type { ServiceMetrics } from '../shared/service-metrics';
import { TaskError } from '../shared/task-error';
import { resultJson } from './answer';
import { parametersOf } from './request-data';
import type { Task, TaskStore, WaitingTask } from './task-store';

/** A conversion that was running this often when the service died counts as the cause. */
const maxAttempts = 10;

const retryDelayMs = 5_000;

/** `broken` is the machine's fault: the same task may succeed if it is submitted again. */
const codeOf = { failed: 'FAILED_CONVERT', broken: 'INTERNAL_SERVER_ERROR' } as const;

type Ending = PoolOutcome | { status: 'failed'; message: string; code: KnownErrorCode; end?: undefined };

interface QueueOptions {
  store: TaskStore;
  files: ServiceFiles;
  pool: Pick<ConversionPool, 'convert' | 'close'>;
  catalog: FormatCatalog;
  limits: ServiceLimits;
  accounts: Accounts;
  metrics: ServiceMetrics | undefined;
  log: Log;
}

/**
 * The accepted conversions, first come, first served; a retry comes last. The database is the source of truth: a task is stored before it
 * is queued, its output is on disk before it is marked as completed, and unfinished tasks of a dead process run again.
 */
export class ConversionQueue {
  readonly #waiting: WaitingTask[] = [];
  readonly #converting = new Map<string, Promise<void>>();
  #oneIsAlone = false;
  readonly #ended = new EventEmitter().setMaxListeners(0);
  #stopped = false;

  constructor(private readonly options: QueueOptions) {}

  /** Queues the tasks that an earlier process accepted and did not complete; returns their number. */
  recover(): number {
    const unfinished = this.options.store.listUnfinished();
    for (const { id, tries } of unfinished) this.enqueue(id, tries);
    return unfinished.length;
  }

  enqueue(id: string, tries = 0): void {
    if (this.#stopped) return;
    this.#waiting.push({ id, tries });
    this.#startNext();
  }

  get counts(): { waiting: number; converting: number } {
    return { waiting: this.#waiting.length, converting: this.#converting.size };
  }

  isWaiting(id: string): boolean {
    return !this.#converting.has(id);
  }

  /** Resolves when the task is completed, or when the queue stops before; the database says which. */
  async finished(id: string): Promise<void> {
    if (this.#stopped) return;
    await new Promise<void>((resolve) => this.#ended.once(id, resolve));
  }

  /** Starts no more work and ends the running conversions; they stay unfinished in the database. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#waiting.length = 0;
    await this.options.pool.close();
    await Promise.allSettled(this.#converting.values());
    for (const id of this.#ended.eventNames()) this.#ended.emit(id);
  }

  #startNext(): void {
    while (!this.#stopped && this.#converting.size < this.options.limits.conversionConcurrency) {
      const [turn] = this.#waiting;
      const isAlone = (turn?.tries ?? 0) > 0;
      if (!turn || this.#oneIsAlone || (isAlone && this.#converting.size > 0)) return;
      this.#waiting.shift();
      this.#oneIsAlone = isAlone;
      const run = this.#run(turn).finally(() => {
        this.#converting.delete(turn.id);
        if (isAlone) this.#oneIsAlone = false;
        this.#startNext();
      });
      this.#converting.set(turn.id, run);
    }
  }

  async #run({ id, tries }: WaitingTask): Promise<void> {
    try {
      if (await this.#convert(id, tries)) return;
    } catch (error) {
      // The disk or the database failed, not the conversion. The task is still in the database and can wait.
      try {
        this.options.store.undoAttempt(id);
      } catch {
        // The same failure again.
      }
      this.options.log(`conversion ${id} could not be recorded, tries again: ${messageOf(error)}`);
      setTimeout(() => this.enqueue(id, tries), retryDelayMs).unref();
      return;
    }
    this.#ended.emit(id);
  }

  /** Returns whether the task was queued again. */
  async #convert(id: string, tries: number): Promise<boolean> {
    const { store, files, log } = this.options;
    const task = store.findAnywhere(id);
    if (!task || task.status === 'completed') return false;
    const startedAt = Date.now();
    store.beginAttempt(id, startedAt);
    const outcome = await this.#attempt(task, files.newOutputPart(id));
    if (outcome.status === 'interrupted') {
      store.undoAttempt(id);
      return false;
    }
    if (outcome.end !== undefined && tries + 1 < triesByEnd[outcome.end]) {
      store.retryAlone(id);
      log(`conversion ${id} ended without a result (${outcome.end}) and is tried again alone`, { taskId: id });
      this.enqueue(id, tries + 1);
      return true;
    }
    this.#complete(task, outcome, startedAt);
    const ending = outcome.status === 'successful' ? outcome.status : `${outcome.status}: ${outcome.message}`;
    const durationMs = Date.now() - startedAt;
    log(`conversion ${id} ${task.inputFormat ?? '?'} → ${task.outputFormat ?? '?'}: ${ending}, ${durationMs} ms`, {
      taskId: id,
      appId: task.app,
      status: outcome.status,
      durationMs,
    });
    return false;
  }

  /** Converts, or ends with a code of the document. */
  async #attempt(task: Task, part: string): Promise<Ending> {
    const { files } = this.options;
    try {
      const outcome = await this.#convertFile(task, part);
      if (outcome.status === 'successful') await files.keepOutput(part, task.id);
      return outcome;
    } catch (error) {
      if (error instanceof TaskError) return { status: 'failed', message: error.message, code: error.code };
      throw error;
    } finally {
      // Before the end is recorded: on a full disk, this makes room for the record.
      await files.discard(part);
    }
  }

  async #convertFile(task: Task, part: string): Promise<PoolOutcome> {
    const { store, files, pool, catalog, limits } = this.options;
    if (task.attempts >= maxAttempts) {
      const message = `The service ended ${maxAttempts} times during this conversion; it is not tried again.`;
      throw new TaskError('FAILED_CONVERT', { message });
    }
    const source = task.connector === null ? undefined : store.findOfApp(task.connector, task.app);
    if (!source) throw missingFile({ endpoint: endpoints.uploadFile });
    const inputPath = await files.requireFile(source);
    const input = requireFormat(catalog, task.inputFormat ?? '', 'input');
    const output = requireFormat(catalog, task.outputFormat ?? '', 'output');
    const parameters = parametersOf(task.payload);
    return pool.convert({
      route: requireRoute(catalog, input, output, parameters),
      inputPath,
      outputPath: part,
      title: baseName(source.fileName ?? 'file'),
      inputFormat: input.name,
      outputFormat: output.name,
      parameters,
      timeoutMs: limits.conversionTimeoutMs,
    });
  }

  #complete({ id, app }: Task, ending: Exclude<Ending, { status: 'interrupted' }>, startedAt: number): void {
    const { store, metrics, accounts } = this.options;
    const completedAt = Date.now();
    const seconds = (completedAt - startedAt) / 1_000;
    // A failed task has an output too, because some public clients look at nothing else.
    const output = { status: ending.status, duration: Math.round(seconds) };
    if (ending.status === 'successful') {
      const result = resultJson({ output: { connector: id, ...output }, warning: ending.warnings });
      const lifetimeMs = accounts.find(app)?.downloadLifetimeMs ?? fileLifetimeSeconds * 1000;
      const file = { fileSize: ending.bytes, expiresAt: completedAt + lifetimeMs };
      store.complete({ id, result, errorCode: null, ...file, completedAt });
      metrics?.converted({ code: undefined, seconds });
      return;
    }
    const code = 'code' in ending ? ending.code : codeOf[ending.status];
    const error = { code, message: ending.message };
    const result = resultJson({ output: { ...output, status: 'failed' }, error });
    store.complete({ id, result, errorCode: code, fileSize: null, expiresAt: null, completedAt });
    metrics?.converted({ code, seconds });
  }
}
