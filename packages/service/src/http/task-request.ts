import type { FastifyReply } from 'fastify';
import { errorCodes, type KnownErrorCode } from 'temporal-file-conversion/contract';
import type { z } from 'zod';
import { callbackProblem } from '../callbacks/send-callback';
import type { ServiceLimits } from '../shared/limits';
import { TaskError } from '../shared/task-error';
import {
  type AnsweredError,
  type AnsweredTask,
  errorIn,
  errorJson,
  responseJson,
  resultJson,
  statusOf,
} from '../tasks/answer';
import { EphemeralTask } from '../tasks/ephemeral-tasks';
import { type AnyTaskData, parseRequestData, WrongData } from '../tasks/request-data';
import type { Caller, Download, ServiceContext, TaskRequest } from './endpoints/endpoint';

/** A request for a task, from its field `data` to its answer. */

type AnyRequest = TaskRequest<AnyTaskData>;

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

/** Parses and checks the field `data`. */
export function readTaskRequest<Schema extends z.ZodType<AnyTaskData>>(
  field: string,
  { app, endpoint, origin, schema, limits }: Caller & { schema: Schema; limits: ServiceLimits },
): TaskRequest<z.output<Schema>> {
  const caller = { app, endpoint, origin, payload: field };
  let known: AnyTaskData | undefined;
  try {
    const data = (known = parseRequestData(field, schema, limits));
    if (data.app.toLowerCase() !== app.appId.toLowerCase()) throw new TaskError('INVALID_CREDENTIAL');
    return { ...caller, data };
  } catch (error) {
    if (error instanceof WrongData) known = error.answering;
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
    const unseen = new EphemeralTask(request.endpoint, request.payload, resultJson({}));
    keepEphemeral(unseen, request, { stores, errorCode: null });
    return reply.headers(task.headers).send(task.bytes);
  }
  if (task instanceof EphemeralTask) keepEphemeral(task, request, { stores, errorCode: null });
  const failed = 'errorCode' in task && typeof task.errorCode === 'string';
  return sendResponse(reply, task, { request, error: failed ? errorIn(task.result) : undefined });
}

export function sendRefusal(reply: FastifyReply, refusal: TaskError, stores: Stores): FastifyReply {
  const { code, message } = refusal;
  // After a failure that proves nothing, nobody knows whether the task has ended.
  if (!(refusal instanceof RefusedTask) || !errorCodes[code].provesNothingRan) {
    return sendJson(reply, statusOf(code), errorJson(refusal));
  }
  const { request } = refusal;
  const task = new EphemeralTask(request.endpoint, request.payload, resultJson({ error: refusal }));
  keepEphemeral(task, request, { stores, errorCode: code });
  return sendResponse(reply, task, { request, error: { code, message } });
}

function sendResponse(
  reply: FastifyReply,
  task: AnsweredTask,
  { request, error }: { request: AnyRequest; error: AnsweredError | undefined },
): FastifyReply {
  const { include } = request.data;
  return sendJson(reply, error ? statusOf(error.code) : 200, responseJson(task, { include, error }));
}

/** A task with a callback must survive a restart. Of the others, nobody can ask for one whose id was not sent. */
function keepEphemeral(
  task: EphemeralTask,
  { app: account, data }: AnyRequest,
  { stores: { store, ephemeral }, errorCode }: { stores: Stores; errorCode: KnownErrorCode | null },
): void {
  const app = account.appId;
  if (data.callback !== undefined && !callbackProblem(data.callback, account)) {
    const { id, endpoint, status, payload, result, createdAt } = task;
    const times = { createdAt, startedAt: createdAt, completedAt: createdAt };
    store.insert({ id, app, endpoint, status, payload, result, errorCode, callback: data.callback, ...times });
  } else if (data.include.includes('entity')) {
    ephemeral.remember(app, task, errorCode);
  }
}

/** With the bare content type, which a public client compares as a whole: without a serializer Fastify adds a charset. */
export function sendJson(reply: FastifyReply, status: number, json: string): FastifyReply {
  return reply.code(status).type('application/json').serializer(String).send(json);
}
