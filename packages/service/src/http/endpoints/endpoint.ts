import { randomUUID } from 'node:crypto';
import type { ReadStream } from 'node:fs';
import type { Endpoint } from 'temporal-file-conversion/contract';
import type { z } from 'zod';
import type { Account, RateClass } from '../../accounts/account';
import type { FormatCatalog } from '../../engines/formats';
import type { FileStore } from '../../files/file-store';
import { versionOf } from '../../shared/api-version';
import type { ServiceLimits } from '../../shared/limits';
import { TaskError } from '../../shared/task-error';
import type { AnsweredTask } from '../../tasks/answer';
import type { ConversionQueue } from '../../tasks/conversion-queue';
import type { EphemeralTasks } from '../../tasks/ephemeral-tasks';
import type { AnyTaskData } from '../../tasks/request-data';
import type { Task, TaskStore } from '../../tasks/task-store';

/** What every endpoint works with. */
export interface ServiceContext {
  readonly store: TaskStore;
  readonly ephemeral: EphemeralTasks;
  readonly files: FileStore;
  readonly queue: ConversionQueue;
  readonly catalog: FormatCatalog;
  readonly limits: ServiceLimits;
}

/** The app and the endpoint of a request, with the version that it names (`v1/convert/file`). */
export interface Caller {
  readonly app: Account;
  readonly endpoint: string;
  /** Of the service, as the caller knows it: `http://127.0.0.1:8465`. */
  readonly origin: string;
}

/** A request whose field `data` is checked and whose app is known. */
export interface TaskRequest<Data> extends Caller {
  readonly data: Data;
  /** The field `data` as it was sent. */
  readonly payload: string;
}

/** Bytes, which are the answer in place of the task. */
export interface Download {
  readonly bytes: ReadStream;
  readonly headers: Readonly<Record<string, string | number>>;
}

/** An endpoint without a file in its request: the rules for its data, and what it does. */
export interface TaskEndpoint<Schema extends z.ZodType = z.ZodType> {
  /** In the document's own version. */
  readonly path: Endpoint;
  readonly rateClass: RateClass;
  readonly schema: Schema;
  readonly run: (
    request: TaskRequest<z.output<Schema>>,
    context: ServiceContext,
  ) => AnsweredTask | Promise<AnsweredTask | Download>;
}

/** What a new task takes from its request. */
export function newTaskOf({ app, endpoint, payload, data }: TaskRequest<AnyTaskData>) {
  return { id: randomUUID(), app: app.appId, endpoint, payload, callback: data.callback ?? null };
}

/** The task that the data key `connector` names. Tasks of other apps don't exist for the caller. */
export function requireTask(
  connector: string,
  { app, endpoint }: Pick<Caller, 'app' | 'endpoint'>,
  { store, ephemeral }: Pick<ServiceContext, 'store' | 'ephemeral'>,
): Task {
  const task = store.findOfApp(connector, app.appId) ?? ephemeral.find(connector, app.appId);
  if (!task) throw new TaskError('NO_CONNECTOR_DEPENDENT_TASK');
  if (versionOf(task.endpoint) !== versionOf(endpoint)) throw new TaskError('MISMATCH_VERSION_DEPENDENT_TASK');
  return task;
}

/** Throws unless the task has succeeded, so that its output can be used. */
export function requireSuccessful(task: Task): void {
  if (task.status !== 'completed' || task.errorCode !== null) throw new TaskError('NOT_READY_DEPENDENT_TASK');
}

/** Section "Authentication": in development only files with a registered hash may be requested, and what was made of them. */
export function requireRegistered({ registeredHashes }: Account, { fileSha256 }: Task): void {
  if (registeredHashes && !registeredHashes.has(fileSha256 ?? '')) throw new TaskError('ONLY_DEVELOPMENT_REQUEST');
}
