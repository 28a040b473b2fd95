import { endpoints } from 'temporal-file-conversion/contract';
import { monitoredJson } from '../answer';
import { EphemeralTask } from '../ephemeral-tasks';
import { requestSchemas } from '../request-data';
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
