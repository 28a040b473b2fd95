import { endpoints } from 'temporal-file-conversion/contract';
import { isTaskOf } from '../../shared/api-version';
import { TaskError } from '../../shared/task-error';
import { monitoredJson, resultJson } from '../../tasks/answer';
import { EphemeralTask } from '../../tasks/ephemeral-tasks';
import { requestSchemas } from '../../tasks/request-data';
import type { Task } from '../../tasks/task-store';
import { type JsonEndpoint, requireTask } from './endpoint';

/** `v1/task/response`: the latest response of a task. `parameters.include` selects from it, `include` from the answer around it. */
export const taskResponse: JsonEndpoint<typeof requestSchemas.taskResponse> = {
  path: endpoints.taskResponse,
  rateClass: 'poll',
  schema: requestSchemas.taskResponse,
  run(request, context) {
    const { data, payload, endpoint } = request;
    const monitored = requireTask(data.connector, request, context);
    const output = monitoredJson(monitored, data.parameters.include);
    return new EphemeralTask(endpoint, payload, `{"output":${output},"error":{},"warning":{}}`);
  },
};

/** `v1/convert/status`: the progress of a conversion. */
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
