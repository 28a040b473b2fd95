import type { z } from 'zod';
import type { Endpoint } from '../../api/contract';
import type { AnsweredTask } from '../answer';
import type { ServiceApp } from '../authentication';
import type { ConversionQueue } from '../conversion-queue';
import type { FileStore } from '../file-store';
import type { FormatCatalog } from '../formats';
import { TaskError } from '../task-error';
import type { Task, TaskStore } from '../task-store';

/** What every endpoint works with. */
export interface ServiceContext {
  readonly store: TaskStore;
  readonly files: FileStore;
  readonly queue: ConversionQueue;
  readonly catalog: FormatCatalog;
  readonly maxUploadBytes: number;
}

/** A request whose field `data` is checked and whose app is known. */
export interface TaskRequest<Data> {
  readonly app: ServiceApp;
  readonly data: Data;
  /** The field `data` as it was sent. */
  readonly payload: string;
}

/** An endpoint that answers with JSON: the rules for its data, and what it does. */
export interface JsonEndpoint<Schema extends z.ZodType = z.ZodType> {
  readonly path: Endpoint;
  readonly schema: Schema;
  run(request: TaskRequest<z.output<Schema>>, context: ServiceContext): AnsweredTask | Promise<AnsweredTask>;
}

/** The task that the data key `connector` names. Tasks of other apps don't exist for the caller. */
export function requireTask(store: TaskStore, connector: string, app: ServiceApp): Task {
  const task = store.findOfApp(connector, app.appId);
  if (!task) throw new TaskError('NO_CONNECTOR_DEPENDENT_TASK');
  return task;
}

/** Throws unless the task has ended well, so that its output can be used. */
export function requireSuccessful(task: Task): void {
  if (task.status !== 'completed' || task.errorCode !== null) throw new TaskError('NOT_READY_DEPENDENT_TASK');
}
