import { randomUUID } from 'node:crypto';
import type { AnsweredTask } from './answer';
import type { Task } from './task-store';

/** A task that ends with its own request: monitoring, questions about formats, and refusals. */
export class EphemeralTask implements AnsweredTask {
  readonly status = 'completed';
  readonly createdAt = Date.now();
  readonly startedAt = this.createdAt;
  readonly completedAt = this.createdAt;
  #id: string | undefined;

  constructor(
    readonly endpoint: string,
    readonly payload: string,
    readonly result: string,
  ) {}

  /** Created on demand: most polls don't ask for it. */
  get id(): string {
    return (this.#id ??= randomUUID());
  }
}

const maxRemembered = 2_000;
const maxRememberedLength = 16 * 1024 * 1024;

/**
 * The ephemeral tasks whose id a client has seen. They can be monitored like any other, as long as there is room. They are not in the
 * database, because then every poll would cost a write, and do not survive a restart.
 */
export class EphemeralTasks {
  readonly #tasks = new Map<string, { app: string; task: EphemeralTask; errorCode: string | null }>();
  #length = 0;

  remember(app: string, task: EphemeralTask, errorCode: string | null): void {
    this.#tasks.set(task.id, { app, task, errorCode });
    this.#length += lengthOf(task);
    for (const [id, { task: oldest }] of this.#tasks) {
      if (this.#tasks.size <= maxRemembered && this.#length <= maxRememberedLength) return;
      this.#tasks.delete(id);
      this.#length -= lengthOf(oldest);
    }
  }

  find(id: string, app: string): Task | undefined {
    const found = this.#tasks.get(id);
    if (found?.app !== app) return undefined;
    const { task, errorCode } = found;
    const { endpoint, status, payload, result, createdAt, startedAt, completedAt } = task;
    const files = { connector: null, inputFormat: null, outputFormat: null, fileName: null, fileSize: null };
    const rest = { fileSha256: null, expiresAt: null, vcredits: null, reserved: null, callback: null, attempts: 0 };
    const own = { id, app, endpoint, payload, result, errorCode, createdAt, startedAt, completedAt };
    return { ...own, status, ...files, ...rest };
  }
}

function lengthOf({ payload, result }: EphemeralTask): number {
  return payload.length + result.length;
}
