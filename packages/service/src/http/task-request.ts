import { randomUUID } from 'node:crypto';
import type { ReadStream } from 'node:fs';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Endpoint, KnownErrorCode } from 'temporal-file-conversion/contract';
import type { z } from 'zod';
import type { Account } from '../accounts/account';
import { callbackProblem } from '../callbacks/send-callback';
import type { FormatCatalog } from '../engines/formats';
import type { ServiceFiles } from '../files/file-store';
import { isTaskOf, versionOf } from '../shared/api-version';
import type { ServiceLimits } from '../shared/limits';
import { TaskError } from '../shared/task-error';
import { type AnsweredTask, errorJson, responseJson, resultJson, statusOf } from '../tasks/answer';
import type { ConversionQueue } from '../tasks/conversion-queue';
import { answeringOf, type AnyTaskData, checkData, parseDataField } from '../tasks/request-data';
import type { Task, TaskStore } from '../tasks/task-store';
import type { Admission } from './admission';
import { endAfterBody } from './unreadable-request';

/** Handles a request for a task, from its field `data` to its answer. */

export interface ServiceContext {
  readonly store: TaskStore;
  readonly files: ServiceFiles;
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

/** The app and the endpoint of a request; the endpoint includes its version (`v1/convert/file`). */
export interface Caller {
  readonly app: Account;
  readonly refusal: TaskError | undefined;
  readonly endpoint: string;
  /** Origin of the service, as the caller knows it: `http://127.0.0.1:8465`. */
  readonly origin: () => string;
}

/** A request with valid `data` and a known app. */
export interface TaskRequest<Data> extends Caller {
  readonly data: Data;
  /** The field `data` as it was sent. */
  readonly payload: string;
}

type AnyRequest = TaskRequest<AnyTaskData>;

/** A byte stream that is the answer instead of the task. */
export interface Download {
  readonly bytes: ReadStream;
  readonly headers: Readonly<Record<string, string | number>>;
}

/**
 * A refused request whose data could be read. It is a task too, completed with an error, and the answer contains what its `include` asks
 * for.
 */
export class RefusedTask extends TaskError {
  constructor(
    error: TaskError,
    readonly request: AnyRequest,
    override readonly cause?: unknown,
  ) {
    super(error.code, { message: error.message });
  }
}

export function callerOf(request: FastifyRequest, endpoint: string, admission: Admission): Caller {
  return { endpoint, origin: () => originOf(request), ...admission.knownApp(request) };
}

function originOf({ protocol, host, socket }: FastifyRequest): string {
  const origin = `${protocol}://${host}`;
  const isUsable = host !== '' && URL.canParse(origin) && new URL(origin).origin === origin.toLowerCase();
  return isUsable ? origin : `${protocol}://${socket.localAddress ?? 'localhost'}:${socket.localPort ?? 80}`;
}

export function readTaskRequest<Schema extends z.ZodType<AnyTaskData>>(
  field: string,
  { schema, limits, ...asking }: Caller & { schema: Schema; limits: ServiceLimits },
): TaskRequest<z.output<Schema>> {
  const { app } = asking;
  const caller = { payload: field, ...asking };
  const sent = parseDataField(field, limits);
  try {
    if (asking.refusal) throw asking.refusal;
    const data = checkData(sent, schema);
    if (data.app.toLowerCase() !== app.appId.toLowerCase()) throw new TaskError('INVALID_CREDENTIAL');
    return { data, ...caller };
  } catch (error) {
    const known = answeringOf(sent);
    if (!known || !(error instanceof TaskError)) throw error;
    const { callback, ...others } = known;
    throw new RefusedTask(error, { ...caller, data: callbackProblem(callback, app) ? others : known });
  }
}

/** The request ended before the task that it waited for; the task continues. */
export class UnfinishedTask extends TaskError {}

/** Runs a task whose data is valid; any error except UnfinishedTask becomes a RefusedTask. */
export async function runTask<Result>(asked: AnyRequest, run: () => Result | Promise<Result>): Promise<Result> {
  try {
    const problem = callbackProblem(asked.data.callback, asked.app);
    if (problem) throw new TaskError(problem);
    return await run();
  } catch (error) {
    if (error instanceof UnfinishedTask) throw error;
    throw error instanceof TaskError
      ? new RefusedTask(error, asked)
      : new RefusedTask(new TaskError('INTERNAL_SERVER_ERROR'), asked, error);
  }
}

type Stores = Pick<ServiceContext, 'store'>;

export function sendTask(
  reply: FastifyReply,
  task: AnsweredTask | EndedTask | Download,
  request: AnyRequest,
  stores: Stores,
): FastifyReply {
  if ('bytes' in task) {
    // The task itself goes only to its callback.
    keep(endedTask(request, resultJson({})), request, stores);
    return reply.headers(task.headers).send(task.bytes);
  }
  if ('isStored' in task) keep(task, request, stores);
  return sendJson(reply, statusOf(task.errorCode), responseJson(task, request.data.include));
}

export function sendRefusal(reply: FastifyReply, refusal: TaskError, stores: Stores): FastifyReply {
  if (!(refusal instanceof RefusedTask)) return sendJson(reply, statusOf(refusal.code), errorJson(refusal));
  const { request, code } = refusal;
  return sendTask(reply, endedTask(request, resultJson({ error: refusal }), code), request, stores);
}

/** Stores the task like any other, unless nobody can ask for it because its id was not sent: most polls cost no write. */
function keep(task: EndedTask, { app, data }: AnyRequest, { store }: Stores): void {
  const callback = callbackProblem(data.callback, app) ? null : task.callback;
  if (callback !== null || data.include.includes('entity')) store.insert({ ...task, callback });
}

/** Sends the bare content type, which a public client compares as a whole; without a serializer Fastify would add a charset. */
function sendJson(reply: FastifyReply, status: number, json: string): FastifyReply {
  endAfterBody(reply.request);
  return reply.code(status).type('application/json').serializer(String).send(json);
}

export function newTaskOf({ app, endpoint, payload, data }: AnyRequest) {
  return { id: randomUUID(), app: app.appId, endpoint, payload, callback: data.callback ?? null };
}

/**
 * A task that ends with its own request: monitoring, questions about formats, and refusals. Spreads come last, because V8 takes a
 * microsecond for each property behind one, and most requests are polls.
 */
export function endedTask(request: AnyRequest, result: string, errorCode: KnownErrorCode | null = null) {
  const now = Date.now();
  const times = { createdAt: now, startedAt: now, completedAt: now };
  return { status: 'completed' as const, result, errorCode, isStored: false, ...times, ...newTaskOf(request) };
}

export type EndedTask = ReturnType<typeof endedTask>;

/**
 * The task that the data key `connector` names; with `madeBy`, it must have come to that endpoint. Tasks of other apps are invisible.
 * @throws TaskError
 */
export function requireTask(
  connector: string,
  { app, endpoint }: Pick<Caller, 'app' | 'endpoint'>,
  { store }: Stores,
  madeBy?: Endpoint,
): Task {
  const task = store.findOfApp(connector, app.appId);
  if (!task) throw new TaskError('NO_CONNECTOR_DEPENDENT_TASK');
  if (versionOf(task.endpoint) !== versionOf(endpoint)) throw new TaskError('MISMATCH_VERSION_DEPENDENT_TASK');
  if (madeBy && !isTaskOf(task, madeBy)) throw new TaskError('MISMATCH_DEPENDENT_TASK');
  return task;
}

/** The same for a task that has succeeded, so that its output can be used. */
export function requireSuccessful(...named: Parameters<typeof requireTask>): Task {
  const task = requireTask(...named);
  if (task.status !== 'completed' || task.errorCode !== null) throw new TaskError('NOT_READY_DEPENDENT_TASK');
  return task;
}

/** Section "Authentication": an app in development may request only files with a registered hash, and what was made of them. */
export function requireRegistered({ registeredHashes }: Account, { fileSha256 }: Pick<Task, 'fileSha256'>): void {
  if (registeredHashes && !registeredHashes.has(fileSha256 ?? '')) throw new TaskError('ONLY_DEVELOPMENT_REQUEST');
}
