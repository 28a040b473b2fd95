import { z } from 'zod';
import { columnsOf, type ServiceDatabase } from '../shared/database';

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
  /** Of a pending one. */
  nextAttemptAt: z.number().nullable(),
  endedAt: z.number().nullable(),
  /** Why the last attempt failed. */
  problem: z.string().nullable(),
});

export type CallbackDelivery = z.infer<typeof deliverySchema>;

/**
 * The callbacks of completed tasks and the state of their delivery. A callback is added in the transaction that completes its task, so
 * that no crash can come between the two; what is pending after a crash is delivered by the next process.
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
        `SELECT ${columnsOf(pendingSchema)} FROM callbacks
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
      find: db.prepare(`SELECT ${columnsOf(deliverySchema)} FROM callbacks WHERE task = ?`),
    };
  }

  /** Calls the listener whenever a callback is added; its transaction may not have ended then. */
  listen(listener: () => void): void {
    this.#onAdded = listener;
  }

  /** Due at once. In the transaction that completes the task. */
  add({ task, app, url, completedAt }: Pick<PendingCallback, 'task' | 'app' | 'url' | 'completedAt'>): void {
    const host = URL.canParse(url) ? new URL(url).host : '';
    this.#statements.add.run(task, app, url, host, completedAt, completedAt);
    this.#onAdded();
  }

  /** The longest due callback that is not in progress and whose host is not in `busyHosts`. */
  findDue(now: number, underWay: readonly string[], busyHosts: readonly string[]): PendingCallback | undefined {
    const row = this.#statements.due.get(now, JSON.stringify(underWay), JSON.stringify(busyHosts));
    return pendingSchema.optional().parse(row);
  }

  /** When the next one that is not due yet will be. */
  nextDueAfter(now: number): number | undefined {
    return z.object({ at: z.number().nullable() }).parse(this.#statements.next.get(now)).at ?? undefined;
  }

  /** What an attempt has made of it. */
  record(task: string, { state, attempts, nextAttemptAt, endedAt, problem }: CallbackDelivery): void {
    this.#statements.record.run(state, attempts, nextAttemptAt, endedAt, problem, task);
  }

  find(task: string): CallbackDelivery | undefined {
    return deliverySchema.optional().parse(this.#statements.find.get(task));
  }
}
