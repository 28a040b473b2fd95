import { EventEmitter } from 'node:events';
import { endpoints, type KnownErrorCode } from 'temporal-file-conversion/contract';
import type { Log } from 'temporal-file-conversion/internal/shared/log';
import { fileLifetimeSeconds } from '../accounts/account';
import type { Accounts } from '../accounts/accounts';
import type { ConversionPool, PoolOutcome } from '../engines/conversion-pool';
import { type FormatCatalog, requireFormat, requireRoute } from '../engines/formats';
import { baseName } from '../files/file-name';
import { type FileStore, missingFile } from '../files/file-store';
import { messageOf } from '../shared/caught';
import type { ServiceLimits } from '../shared/limits';
import type { ServiceMetrics } from '../shared/service-metrics';
import { TaskError } from '../shared/task-error';
import { resultJson } from './answer';
import { parametersOf } from './request-data';
import type { Task, TaskStore } from './task-store';

/** A conversion that was running this often when the service died is taken for the cause. */
const maxAttempts = 10;

const retryDelayMs = 5_000;

/** `broken` is the machine's fault: the same task may succeed when it is submitted again. */
const codeOf = { failed: 'FAILED_CONVERT', broken: 'INTERNAL_SERVER_ERROR' } as const;

type Ending = PoolOutcome | { status: 'failed'; message: string; code: KnownErrorCode };

interface QueueOptions {
  store: TaskStore;
  files: FileStore;
  pool: ConversionPool;
  catalog: FormatCatalog;
  limits: ServiceLimits;
  accounts: Accounts;
  metrics: ServiceMetrics | undefined;
  log: Log;
}

/**
 * The accepted conversions, first come, first served. The database holds the truth: a task is stored before it is queued, its
 * output is on disk before the database says completed, and what a dead process left unfinished runs again.
 */
export class ConversionQueue {
  readonly #waiting: string[] = [];
  readonly #converting = new Map<string, Promise<void>>();
  /** Emits the id of a task when it is completed. */
  readonly #ended = new EventEmitter().setMaxListeners(0);
  #stopped = false;

  constructor(private readonly options: QueueOptions) {}

  /** Runs again what an earlier process accepted and did not complete; the number of such tasks. */
  recover(): number {
    const unfinished = this.options.store.listUnfinished();
    for (const id of unfinished) this.enqueue(id);
    return unfinished.length;
  }

  /** Queues a task that is already in the database. */
  enqueue(id: string): void {
    if (this.#stopped) return;
    this.#waiting.push(id);
    this.#startNext();
  }

  /** Conversions now. */
  get counts(): { waiting: number; converting: number } {
    return { waiting: this.#waiting.length, converting: this.#converting.size };
  }

  /** Whether the task still waits for an engine. */
  isWaiting(id: string): boolean {
    return !this.#converting.has(id);
  }

  /** Resolves when the task is completed, or when the queue stops before that; the database says which. */
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
      const id = this.#waiting.shift();
      if (id === undefined) return;
      const run = this.#run(id).finally(() => {
        this.#converting.delete(id);
        this.#startNext();
      });
      this.#converting.set(id, run);
    }
  }

  async #run(id: string): Promise<void> {
    try {
      await this.#convert(id);
    } catch (error) {
      // The disk or the database fails, which is not the conversion's fault. The task is still in the database and can wait.
      try {
        this.options.store.undoAttempt(id);
      } catch {
        // The same failure again.
      }
      this.options.log(`conversion ${id} could not be recorded, tries again: ${messageOf(error)}`);
      setTimeout(() => this.enqueue(id), retryDelayMs).unref();
      return;
    }
    this.#ended.emit(id);
  }

  async #convert(id: string): Promise<void> {
    const { store, files, log } = this.options;
    const task = store.findAnywhere(id);
    if (!task || task.status === 'completed') return;
    const startedAt = Date.now();
    store.beginAttempt(id, startedAt);
    const outcome = await this.#attempt(task, files.newOutputPart(id));
    if (outcome.status === 'interrupted') {
      store.undoAttempt(id);
      return;
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
    // Of a failed one too: some public clients look at the output alone.
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
