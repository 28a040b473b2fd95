import type { FastifyReply } from 'fastify';
import { errorCodes, type KnownErrorCode, lookUpErrorCode } from '../api/error-codes';
import { type AnsweredTask, errorJson, errorStatus, resultJson, taskJson } from './answer';
import type { ServiceContext, TaskRequest } from './endpoints/endpoint';
import { PassingTask } from './passing-tasks';
import type { AnyTaskData } from './request-data';
import { TaskError } from './task-error';

/** Sending answers. */

type AnyRequest = TaskRequest<AnyTaskData>;
type Stores = Pick<ServiceContext, 'store' | 'passing'>;

export function sendTask(reply: FastifyReply, task: AnsweredTask, request: AnyRequest, stores: Stores): FastifyReply {
  const { include } = request.data;
  if (task instanceof PassingTask) keepPassing(task, request, { stores, errorCode: null });
  const errorCode = 'errorCode' in task && typeof task.errorCode === 'string' ? task.errorCode : undefined;
  const status = errorCode === undefined ? 200 : (lookUpErrorCode(errorCode)?.httpStatus ?? 200);
  return sendJson(reply, status, taskJson(task, include));
}

/**
 * A request whose data was understood and which is refused all the same. It is a task too, completed with an error: entity and
 * payload come as they were asked for. The result comes always, as nothing else tells of the error.
 */
export class RefusedTask extends TaskError {
  constructor(
    error: TaskError,
    readonly request: AnyRequest,
  ) {
    super(error.code, { message: error.message });
  }
}

export function sendRefusal(reply: FastifyReply, refusal: TaskError, stores: Stores): FastifyReply {
  const { code, message } = refusal;
  // Of a failure that proves nothing nobody knows whether the task has ended.
  if (!(refusal instanceof RefusedTask) || !errorCodes[code].provesNothingRan) {
    return sendJson(reply, errorStatus(refusal), errorJson(refusal));
  }
  const { endpoint, data, payload } = refusal.request;
  const task = new PassingTask(endpoint, payload, resultJson({ error: { code, message } }));
  keepPassing(task, refusal.request, { stores, errorCode: code });
  return sendJson(reply, errorStatus(refusal), taskJson(task, [...data.include, 'result']));
}

/** A callback has to survive a restart, and its task with it. Of the others nobody can ask for one whose id was not told. */
function keepPassing(
  task: PassingTask,
  { app: { appId: app }, data }: AnyRequest,
  { stores: { store, passing }, errorCode }: { stores: Stores; errorCode: KnownErrorCode | null },
): void {
  if (data.callback !== undefined && !refusesCallback(errorCode)) {
    const { id, endpoint, status, payload, result, createdAt } = task;
    const times = { createdAt, startedAt: createdAt, completedAt: createdAt };
    store.insert({ id, app, endpoint, status, payload, result, errorCode, callback: data.callback, ...times });
  } else if (data.include.includes('entity')) {
    passing.remember(app, task, errorCode);
  }
}

function refusesCallback(errorCode: KnownErrorCode | null): boolean {
  return errorCode === 'INVALID_CALLBACK' || errorCode === 'UNVERIFIED_DOMAIN_CALLBACK';
}

function sendJson(reply: FastifyReply, status: number, json: string): FastifyReply {
  return reply.code(status).header('content-type', 'application/json; charset=utf-8').send(json);
}
