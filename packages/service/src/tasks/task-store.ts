import { taskStatuses } from 'temporal-file-conversion/contract';
import { z } from 'zod';
import { CreditLedger } from '../accounts/account';
import { columnOf, columnNames, type ServiceDatabase } from '../shared/database';

/** A stored task; times are milliseconds since 1970. */
export const taskSchema = z.object({
  id: z.string(),
  app: z.string(),
  endpoint: z.string(),
  status: z.enum(taskStatuses),
  payload: z.string(),
  result: z.string().nullable(),
  errorCode: z.string().nullable(),
  connector: z.string().nullable(),
  inputFormat: z.string().nullable(),
  outputFormat: z.string().nullable(),
  fileName: z.string().nullable(),
  fileSize: z.number().nullable(),
  fileSha256: z.string().nullable(),
  expiresAt: z.number().nullable(),
  vcredits: z.number().nullable(),
  reserved: z.number().nullable(),
  callback: z.string().nullable(),
  attempts: z.number(),
  tries: z.number(),
  createdAt: z.number(),
  startedAt: z.number().nullable(),
  completedAt: z.number().nullable(),
});

export type Task = z.infer<typeof taskSchema>;

/** `tries`: attempts that the machine may have ended; after any, the task runs while no other does. */
export type WaitingTask = Pick<Task, 'id' | 'tries'>;

/** Fields that a caller sets; all others of a new task are empty. */
export type NewTask = Pick<Task, 'id' | 'app' | 'endpoint' | 'status' | 'payload' | 'createdAt'> & Partial<Task>;

type TaskCompletion = Pick<Task, 'id' | 'result' | 'errorCode' | 'fileSize' | 'expiresAt'> & { completedAt: number };

const keys = taskSchema.keyof().options;
const columns = columnNames(taskSchema);
const nothing = Object.fromEntries(keys.map((key) => [key, null])) as Record<keyof Task, null>;

function completeTask(task: NewTask): Task {
  return { ...nothing, attempts: 0, tries: 0, ...task };
}

/** Clients poll the same few tasks repeatedly, and reading one from the database costs as much as answering. */
const maxRememberedTasks = 1_000;
const maxRememberedLength = 16_384;

/**
 * All tasks of all apps, with their vCredits. Every method is one transaction, committed when it returns. Reads are cached until they
 * change, which only this process can do: the data folder is locked.
 *
 * A task becomes completed in `insert` or in `complete` and nowhere else: anything that must happen exactly once with it belongs there.
 */
export class TaskStore {
  readonly #remembered = new Map<string, Task>();
  readonly #db: ServiceDatabase;
  readonly #statements;
  readonly ledger: CreditLedger;
  readonly callbacks: CallbackStore;

  constructor(db: ServiceDatabase) {
    this.#db = db;
    this.ledger = new CreditLedger(db);
    this.callbacks = new CallbackStore(db);
    this.#statements = {
      insert: db.prepare(
        `INSERT INTO tasks (${keys.map(columnOf).join(', ')}) VALUES (${keys.map(() => '?').join(', ')})`,
      ),
      ofApp: db.prepare(`SELECT ${columns} FROM tasks WHERE id = ? AND app = ?`),
      unfinished: db.prepare(
        `SELECT id, tries FROM tasks WHERE status <> 'completed' ORDER BY attempts, created_at, rowid`,
      ),
      byId: db.prepare(`SELECT ${columns} FROM tasks WHERE id = ?`),
      beginAttempt: db.prepare(
        `UPDATE tasks SET attempts = attempts + 1, status = 'running', started_at = coalesce(started_at, ?) WHERE id = ?`,
      ),
      undoAttempt: db.prepare('UPDATE tasks SET attempts = attempts - 1 WHERE id = ? AND attempts > 0'),
      retryAlone: db.prepare('UPDATE tasks SET attempts = attempts - 1, tries = tries + 1 WHERE id = ?'),
      complete: db.prepare(
        `UPDATE tasks SET status = 'completed', result = ?, error_code = ?, file_size = ?, expires_at = ?, completed_at = ?,
           vcredits = ?
         WHERE id = ? AND status <> 'completed'`,
      ),
      isNeeded: db.prepare(`SELECT 1 FROM tasks WHERE connector = ? AND status <> 'completed'`),
      deleteOld: db.prepare(
        `DELETE FROM tasks WHERE id IN (
           SELECT id FROM tasks AS old WHERE completed_at < ? AND status = 'completed' AND coalesce(expires_at, 0) < ?
             AND NOT EXISTS (SELECT 1 FROM tasks AS next WHERE next.connector = old.id AND next.status <> 'completed')
             AND NOT EXISTS (SELECT 1 FROM callbacks WHERE task = old.id AND state = 'pending')
           LIMIT 500)`,
      ),
      deleteStrayCallbacks: db.prepare('DELETE FROM callbacks WHERE task NOT IN (SELECT id FROM tasks)'),
      countSince: db.prepare(
        // Refused requests have no formats, and do not count.
        'SELECT count(*) AS count FROM tasks WHERE app = ? AND created_at >= ? AND output_format IS NOT NULL',
      ),
    };
  }

  /** Accepts a task and reserves its vCredits. @throws INSUFFICIENT_VCREDITS, and writes nothing, if there are too few. */
  admit(task: NewTask, price: number): void {
    this.#transaction(() => {
      this.#write({ ...task, reserved: this.ledger.reserve(task.app, price) });
    });
  }

  /** Writes a task that costs nothing; if it is already completed, its callback is due. */
  insert(task: NewTask): NewTask {
    this.#transaction(() => {
      this.#write(task);
      if (task.status === 'completed') this.#callBack(task, task.completedAt ?? task.createdAt);
    });
    return task;
  }

  #write(task: NewTask): void {
    const complete = completeTask(task);
    this.#statements.insert.run(...keys.map((key) => complete[key] ?? null));
  }

  /** A task of this app; tasks of other apps are invisible. */
  findOfApp(id: string, app: string): Task | undefined {
    const remembered = this.#remembered.get(id);
    if (remembered) return remembered.app === app ? remembered : undefined;
    const task = taskSchema.optional().parse(this.#statements.ofApp.get(id, app));
    if (task) this.#remember(task);
    return task;
  }

  findAnywhere(id: string): Task | undefined {
    return taskSchema.optional().parse(this.#statements.byId.get(id));
  }

  /**
   * The tasks that are not completed: first those that were running least often when a process died, then in order of arrival. So a
   * conversion that kills the service delays no other, and one that merely ran at the same time is not given up.
   */
  listUnfinished(): WaitingTask[] {
    return z.array(taskSchema.pick({ id: true, tries: true })).parse(this.#statements.unfinished.all());
  }

  beginAttempt(id: string, startedAt: number): void {
    this.#statements.beginAttempt.run(startedAt, id);
    this.#remembered.delete(id);
  }

  /** Takes back an attempt that was interrupted on purpose. */
  undoAttempt(id: string): void {
    this.#statements.undoAttempt.run(id);
    this.#remembered.delete(id);
  }

  /** Takes back an attempt that the machine may have ended, and remembers it. */
  retryAlone(id: string): void {
    this.#statements.retryAlone.run(id);
    this.#remembered.delete(id);
  }

  #callBack({ id, app, callback }: NewTask, completedAt: number): void {
    if (callback != null) this.callbacks.add({ task: id, app, url: callback, completedAt });
  }

  /**
   * Ends a task: charges its reservation, or releases it after a failure, and adds its callback. No-op for a task that has already ended.
   */
  complete(completion: TaskCompletion): void {
    const { id, result, errorCode, fileSize, expiresAt, completedAt } = completion;
    this.#transaction(() => {
      const task = this.findAnywhere(id);
      if (!task || task.status === 'completed') return;
      const succeeded = errorCode === null;
      const vcredits = succeeded ? task.reserved : null;
      this.#statements.complete.run(result, errorCode, fileSize, expiresAt, completedAt, vcredits, id);
      this.ledger.settle(task.app, task.reserved ?? 0, succeeded);
      this.#callBack(task, completedAt);
    });
    this.#remembered.delete(id);
  }

  /** Whether an unfinished task works on the file of this one. */
  isNeeded(id: string): boolean {
    return this.#statements.isNeeded.get(id) !== undefined;
  }

  /** Deletes a batch of tasks that were completed before one time and whose files expired before another; returns how many. */
  deleteCompletedBefore(completedAt: number, expiredAt: number): number {
    let deleted = 0;
    this.#transaction(() => {
      deleted = this.#statements.deleteOld.run(completedAt, expiredAt).changes;
      if (deleted > 0) this.#statements.deleteStrayCallbacks.run();
    });
    if (deleted > 0) this.#remembered.clear();
    return deleted;
  }

  /** Conversions of an app that were accepted since a time. */
  countConversionsSince(app: string, since: number): number {
    const row = this.#statements.countSince.get(app, since);
    return z.object({ count: z.number() }).parse(row).count;
  }

  #transaction(work: () => void): void {
    this.#db.transaction(work).immediate();
  }

  #remember(task: Task): void {
    if (task.payload.length + (task.result?.length ?? 0) > maxRememberedLength) return;
    this.#remembered.set(task.id, task);
    if (this.#remembered.size <= maxRememberedTasks) return;
    const [oldest] = this.#remembered.keys();
    if (oldest !== undefined) this.#remembered.delete(oldest);
  }

  answers(): boolean {
    try {
      this.#db.prepare('SELECT 1 FROM tasks LIMIT 1').get();
      return true;
    } catch {
      return false;
    }
  }

  close(): void {
    this.#db.close();
  }
}

const pendingSchema = z.object({
  task: z.string(),
  app: z.string(),
  url: z.string(),
  host: z.string(),
  attempts: z.number(),
  completedAt: z.number(),
});

export type PendingCallback = z.infer<typeof pendingSchema>;

const deliverySchema = z.object({
  state: z.enum(['pending', 'delivered', 'failed']),
  attempts: z.number(),
  /** Null unless pending. */
  nextAttemptAt: z.number().nullable(),
  endedAt: z.number().nullable(),
  problem: z.string().nullable(),
});

export type CallbackDelivery = z.infer<typeof deliverySchema>;

/**
 * The callbacks of completed tasks and the state of their delivery. A callback is added in the transaction that completes its task, so
 * that no crash can separate the two; the next process delivers callbacks that are still pending.
 */
export class CallbackStore {
  readonly #statements;
  #onAdded: () => void = () => undefined;

  constructor(db: ServiceDatabase) {
    this.#statements = {
      add: db.prepare(
        `INSERT INTO callbacks (task, app, url, host, state, completed_at, next_attempt_at) VALUES (?, ?, ?, ?, 'pending', ?, ?)`,
      ),
      due: db.prepare(
        `SELECT ${columnNames(pendingSchema)} FROM callbacks
         WHERE state = 'pending' AND next_attempt_at <= ?1
           AND task NOT IN (SELECT value FROM json_each(?2)) AND host NOT IN (SELECT value FROM json_each(?3))
         ORDER BY next_attempt_at, rowid LIMIT 1`,
      ),
      next: db.prepare(
        `SELECT min(next_attempt_at) AS at FROM callbacks WHERE state = 'pending' AND next_attempt_at > ?`,
      ),
      record: db.prepare(
        'UPDATE callbacks SET state = ?, attempts = ?, next_attempt_at = ?, ended_at = ?, problem = ? WHERE task = ?',
      ),
      find: db.prepare(`SELECT ${columnNames(deliverySchema)} FROM callbacks WHERE task = ?`),
    };
  }

  /** Calls the listener whenever a callback is added, possibly before its transaction is committed. */
  listen(listener: () => void): void {
    this.#onAdded = listener;
  }

  /** Due at once. Must be called in the transaction that completes the task. */
  add({ task, app, url, completedAt }: Pick<PendingCallback, 'task' | 'app' | 'url' | 'completedAt'>): void {
    const host = URL.canParse(url) ? new URL(url).host : '';
    this.#statements.add.run(task, app, url, host, completedAt, completedAt);
    this.#onAdded();
  }

  /** The longest due callback that is not in flight and whose host is not busy. */
  findDue(now: number, underWay: readonly string[], busyHosts: readonly string[]): PendingCallback | undefined {
    const row = this.#statements.due.get(now, JSON.stringify(underWay), JSON.stringify(busyHosts));
    return pendingSchema.optional().parse(row);
  }

  nextDueAfter(now: number): number | undefined {
    return z.object({ at: z.number().nullable() }).parse(this.#statements.next.get(now)).at ?? undefined;
  }

  record(task: string, { state, attempts, nextAttemptAt, endedAt, problem }: CallbackDelivery): void {
    this.#statements.record.run(state, attempts, nextAttemptAt, endedAt, problem, task);
  }

  find(task: string): CallbackDelivery | undefined {
    return deliverySchema.optional().parse(this.#statements.find.get(task));
  }
}
