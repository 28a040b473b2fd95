import { randomUUID } from 'node:crypto';
import type { ReadStream } from 'node:fs';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Endpoint, errorCodes } from 'temporal-file-conversion/contract';
import type { z } from 'zod';
import type { Account } from '../accounts/account';
import { callbackProblem } from '../callbacks/send-callback';
import type { FormatCatalog } from '../engines/formats';
import type { FileStore } from '../files/file-store';
import { isTaskOf, versionOf } from '../shared/api-version';
import type { ServiceLimits } from '../shared/limits';
import { TaskError } from '../shared/task-error';
import {
  type AnsweredTask,
  EphemeralTask,
  type EphemeralTasks,
  errorJson,
  responseJson,
  resultJson,
  statusOf,
} from '../tasks/answer';
import type { ConversionQueue } from '../tasks/conversion-queue';
import { answeringOf, type AnyTaskData, checkData, parseDataField } from '../tasks/request-data';
import type { Task, TaskStore } from '../tasks/task-store';
import type { Admission } from './admission';

/** A request for a task, from its field `data` to its answer. */

/** What every endpoint works with. */
export interface ServiceContext {
  readonly store: TaskStore;
  readonly ephemeral: EphemeralTasks;
  readonly files: FileStore;
  readonly queue: ConversionQueue;
  readonly catalog: FormatCatalog;
  readonly limits: ServiceLimits;
}

export interface RouteOptions {
  /** Versions of the API, each with every endpoint. */
  versions: readonly string[];
  admission: Admission;
  context: ServiceContext;
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

type AnyRequest = TaskRequest<AnyTaskData>;

/** Bytes, which are the answer in place of the task. */
export interface Download {
  readonly bytes: ReadStream;
  readonly headers: Readonly<Record<string, string | number>>;
}

/**
 * A request that is refused although its data could be read. It is a task too, completed with an error, and the answer has what its
 * `include` asks for.
 */
export class RefusedTask extends TaskError {
  constructor(
    error: TaskError,
    readonly request: AnyRequest,
  ) {
    super(error.code, { message: error.message });
  }
}

export function callerOf(request: FastifyRequest, endpoint: string, admission: Admission): Caller {
  return { app: admission.appOf(request), endpoint, origin: originOf(request) };
}

function originOf({ protocol, host, socket }: FastifyRequest): string {
  const origin = `${protocol}://${host}`;
  const isUsable = host !== '' && URL.canParse(origin) && new URL(origin).origin === origin.toLowerCase();
  return isUsable ? origin : `${protocol}://${socket.localAddress ?? 'localhost'}:${socket.localPort ?? 80}`;
}

/** Parses and checks the field `data`. */
export function readTaskRequest<Schema extends z.ZodType<AnyTaskData>>(
  field: string,
  { schema, limits, ...asking }: Caller & { schema: Schema; limits: ServiceLimits },
): TaskRequest<z.output<Schema>> {
  const { app } = asking;
  const caller = { ...asking, payload: field };
  const sent = parseDataField(field, limits);
  try {
    const data = checkData(sent, schema);
    if (data.app.toLowerCase() !== app.appId.toLowerCase()) throw new TaskError('INVALID_CREDENTIAL');
    return { ...caller, data };
  } catch (error) {
    const known = answeringOf(sent);
    if (!known || !(error instanceof TaskError)) throw error;
    const { callback, ...others } = known;
    throw new RefusedTask(error, { ...caller, data: callbackProblem(callback, app) ? others : known });
  }
}

/** Runs a task whose data is valid; a refusal becomes a RefusedTask. */
export async function runTask<Result>(asked: AnyRequest, run: () => Result | Promise<Result>): Promise<Result> {
  try {
    const problem = callbackProblem(asked.data.callback, asked.app);
    if (problem) throw new TaskError(problem);
    return await run();
  } catch (error) {
    throw error instanceof TaskError ? new RefusedTask(error, asked) : error;
  }
}

type Stores = Pick<ServiceContext, 'store' | 'ephemeral'>;

export function sendTask(
  reply: FastifyReply,
  task: AnsweredTask | Download,
  request: AnyRequest,
  stores: Stores,
): FastifyReply {
  if ('bytes' in task) {
    // The task itself goes to its callback alone.
    keepEphemeral(new EphemeralTask(request, resultJson({})), request, stores);
    return reply.headers(task.headers).send(task.bytes);
  }
  if (task instanceof EphemeralTask) keepEphemeral(task, request, stores);
  return sendJson(reply, statusOf(task.errorCode), responseJson(task, request.data.include));
}

export function sendRefusal(reply: FastifyReply, refusal: TaskError, stores: Stores): FastifyReply {
  // After a failure that proves nothing, nobody knows whether the task has ended.
  if (!(refusal instanceof RefusedTask) || !errorCodes[refusal.code].provesNothingRan) {
    return sendJson(reply, statusOf(refusal.code), errorJson(refusal));
  }
  const { request, code } = refusal;
  return sendTask(reply, new EphemeralTask(request, resultJson({ error: refusal }), code), request, stores);
}

/** A task with a callback must survive a restart. Of the others, nobody can ask for one whose id was not sent. */
function keepEphemeral(task: EphemeralTask, { app, data }: AnyRequest, { store, ephemeral }: Stores): void {
  const { callback } = data;
  if (callback !== undefined && !callbackProblem(callback, app)) {
    store.insert({ ...task.storedFor(app.appId), callback });
  } else if (data.include.includes('entity')) {
    ephemeral.remember(app.appId, task);
  }
}

/** With the bare content type, which a public client compares as a whole: without a serializer Fastify adds a charset. */
export function sendJson(reply: FastifyReply, status: number, json: string): FastifyReply {
  return reply.code(status).type('application/json').serializer(String).send(json);
}

/** What a new task takes from its request. */
export function newTaskOf({ app, endpoint, payload, data }: AnyRequest) {
  return { id: randomUUID(), app: app.appId, endpoint, payload, callback: data.callback ?? null };
}

/**
 * The task that the data key `connector` names, which must have come to the endpoint `madeBy`, if that matters. Tasks of other apps
 * don't exist for the caller.
 */
export function requireTask(
  connector: string,
  { app, endpoint }: Pick<Caller, 'app' | 'endpoint'>,
  { store, ephemeral }: Stores,
  madeBy?: Endpoint,
): Task {
  const task = store.findOfApp(connector, app.appId) ?? ephemeral.find(connector, app.appId);
  if (!task) throw new TaskError('NO_CONNECTOR_DEPENDENT_TASK');
  if (versionOf(task.endpoint) !== versionOf(endpoint)) throw new TaskError('MISMATCH_VERSION_DEPENDENT_TASK');
  if (madeBy && !isTaskOf(task, madeBy)) throw new TaskError('MISMATCH_DEPENDENT_TASK');
  return task;
}

/** The same, of a task that has succeeded, so that its output can be used. */
export function requireSuccessful(...named: Parameters<typeof requireTask>): Task {
  const task = requireTask(...named);
  if (task.status !== 'completed' || task.errorCode !== null) throw new TaskError('NOT_READY_DEPENDENT_TASK');
  return task;
}

/** Section "Authentication": in development only files with a registered hash may be requested, and what was made of them. */
export function requireRegistered({ registeredHashes }: Account, { fileSha256 }: Pick<Task, 'fileSha256'>): void {
  if (registeredHashes && !registeredHashes.has(fileSha256 ?? '')) throw new TaskError('ONLY_DEVELOPMENT_REQUEST');
}
