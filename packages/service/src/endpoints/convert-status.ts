import { endpoints } from 'temporal-file-conversion/contract';
import { isTaskOf } from '../api-version';
import { resultJson } from '../answer';
import { EphemeralTask } from '../ephemeral-tasks';
import { requestSchemas } from '../request-data';
import { TaskError } from '../task-error';
import type { Task } from '../task-store';
import { type JsonEndpoint, requireTask } from './endpoint';

/** `v1/convert/status`: how far a conversion is. */
export const convertStatus: JsonEndpoint<typeof requestSchemas.dependentTask> = {
  path: endpoints.convertStatus,
  rateClass: 'poll',
  schema: requestSchemas.dependentTask,
  run(request, context) {
    const task = requireTask(request.data.connector, request, context);
    if (!isTaskOf(task, endpoints.convertFile)) throw new TaskError('MISMATCH_DEPENDENT_TASK');
    const output = { status: describeProgress(task, context.queue.isWaiting(task.id)) };
    return new EphemeralTask(request.endpoint, request.payload, resultJson({ output }));
  },
};

function describeProgress(task: Task, isWaiting: boolean): 'waiting' | 'pending' | 'successful' | 'failed' {
  if (task.status === 'completed') return task.errorCode === null ? 'successful' : 'failed';
  return isWaiting ? 'waiting' : 'pending';
}
