import { endpoints } from 'temporal-file-conversion/contract';
import { describeFormat, requireFormat } from '../../engines/formats';
import { isTaskOf } from '../../shared/api-version';
import { TaskError } from '../../shared/task-error';
import { monitoredJson, resultJson } from '../../tasks/answer';
import { EphemeralTask } from '../../tasks/ephemeral-tasks';
import { requestSchemas } from '../../tasks/request-data';
import type { Task } from '../../tasks/task-store';
import { type TaskEndpoint, requireTask } from './endpoint';

/** What is known of tasks and of formats: endpoints that change nothing. */

/** `v1/task/response`: the latest response of a task. `parameters.include` selects from it, `include` from the answer around it. */
export const taskResponse: TaskEndpoint<typeof requestSchemas.taskResponse> = {
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
export const convertStatus: TaskEndpoint<typeof requestSchemas.dependentTask> = {
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

/** `v1/convert/formats`: the formats at one end; `format` narrows them to those that convert from or to it. */
export const convertFormats: TaskEndpoint<typeof requestSchemas.convertFormats> = {
  path: endpoints.convertFormats,
  rateClass: 'info',
  schema: requestSchemas.convertFormats,
  run({ data, payload, endpoint }, { catalog }) {
    const { sublist, format } = data.parameters;
    const partner = format === undefined ? undefined : requireFormat(catalog, format, 'any');
    const formats = catalog.list(sublist, partner).map(describeFormat);
    return new EphemeralTask(endpoint, payload, resultJson({ output: { formats } }));
  },
};

/** `v1/format/get`: one format. */
export const formatGet: TaskEndpoint<typeof requestSchemas.formatGet> = {
  path: endpoints.formatGet,
  rateClass: 'info',
  schema: requestSchemas.formatGet,
  run({ data, payload, endpoint }, { catalog }) {
    const output = describeFormat(requireFormat(catalog, data.parameters.format, 'any'));
    return new EphemeralTask(endpoint, payload, resultJson({ output }));
  },
};

/** `v1/convert/graph`: whether a pair converts, and whether it does in the other direction. */
export const convertGraph: TaskEndpoint<typeof requestSchemas.convertGraph> = {
  path: endpoints.convertGraph,
  rateClass: 'info',
  schema: requestSchemas.convertGraph,
  run({ data, payload, endpoint }, { catalog }) {
    const input = requireFormat(catalog, data.parameters.input, 'input');
    const output = requireFormat(catalog, data.parameters.output, 'output');
    const graph = { is_match: catalog.converts(input, output), is_reversable: catalog.converts(output, input) };
    return new EphemeralTask(endpoint, payload, resultJson({ output: graph }));
  },
};
