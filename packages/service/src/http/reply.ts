import type { FastifyReply } from 'fastify';
import { errorCodes, type KnownErrorCode } from 'temporal-file-conversion/contract';
import type { TaskError } from '../shared/task-error';
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
import type { AnyTaskData } from '../tasks/request-data';
import type { ServiceContext, TaskRequest } from './endpoints/endpoint';
import { RefusedTask } from './task-request';

type AnyRequest = TaskRequest<AnyTaskData>;
type Stores = Pick<ServiceContext, 'store' | 'ephemeral'>;

export function sendTask(reply: FastifyReply, task: AnsweredTask, request: AnyRequest, stores: Stores): FastifyReply {
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
export function keepEphemeral(
  task: EphemeralTask,
  { app: { appId: app }, data }: AnyRequest,
  { stores: { store, ephemeral }, errorCode }: { stores: Stores; errorCode: KnownErrorCode | null },
): void {
  if (data.callback !== undefined && !refusesCallback(errorCode)) {
    const { id, endpoint, status, payload, result, createdAt } = task;
    const times = { createdAt, startedAt: createdAt, completedAt: createdAt };
    store.insert({ id, app, endpoint, status, payload, result, errorCode, callback: data.callback, ...times });
  } else if (data.include.includes('entity')) {
    ephemeral.remember(app, task, errorCode);
  }
}

function refusesCallback(errorCode: KnownErrorCode | null): boolean {
  return errorCode === 'INVALID_CALLBACK' || errorCode === 'UNVERIFIED_DOMAIN_CALLBACK';
}

/** With the bare content type, which a public client compares as a whole: without a serializer Fastify adds a charset. */
export function sendJson(reply: FastifyReply, status: number, json: string): FastifyReply {
  return reply.code(status).type('application/json').serializer(String).send(json);
}
