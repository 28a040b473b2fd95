import type { FastifyReply } from 'fastify';
import { errorCodes, lookUpErrorCode } from '../api/error-codes';
import { type AnsweredTask, errorJson, errorStatus, resultJson, taskJson } from './answer';
import type { TaskRequest } from './endpoints/endpoint';
import { PassingTask, type PassingTasks } from './passing-tasks';
import type { AnyTaskData } from './request-data';
import { TaskError } from './task-error';

/** Sending answers. */

type AnyRequest = TaskRequest<AnyTaskData>;

export function sendTask(
  reply: FastifyReply,
  task: AnsweredTask,
  request: AnyRequest,
  passing: PassingTasks,
): FastifyReply {
  const { include } = request.data;
  // Nobody can ask for a task whose id was not told.
  if (task instanceof PassingTask && include.includes('entity')) passing.remember(request.app.appId, task, null);
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

export function sendRefusal(reply: FastifyReply, refusal: TaskError, passing: PassingTasks): FastifyReply {
  const { code, message } = refusal;
  // Of a failure that proves nothing nobody knows whether the task has ended.
  if (!(refusal instanceof RefusedTask) || !errorCodes[code].provesNothingRan) {
    return sendJson(reply, errorStatus(refusal), errorJson(refusal));
  }
  const { app, endpoint, data, payload } = refusal.request;
  const task = new PassingTask(endpoint, payload, resultJson({ error: { code, message } }));
  if (data.include.includes('entity')) passing.remember(app.appId, task, code);
  return sendJson(reply, errorStatus(refusal), taskJson(task, [...data.include, 'result']));
}

function sendJson(reply: FastifyReply, status: number, json: string): FastifyReply {
  return reply.code(status).header('content-type', 'application/json; charset=utf-8').send(json);
}
