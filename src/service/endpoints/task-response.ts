import { endpoints } from '../../api/contract';
import { passingTask, taskJson } from '../answer';
import { requestSchemas } from '../request-data';
import { type JsonEndpoint, requireTask } from './endpoint';

/** `v1/task/response`: the latest response of a task. `parameters.include` selects from it, `include` from the answer around it. */
export const taskResponse: JsonEndpoint<typeof requestSchemas.taskResponse> = {
  path: endpoints.taskResponse,
  schema: requestSchemas.taskResponse,
  run({ app, data, payload }, { store }) {
    const monitored = requireTask(store, data.connector, app);
    const output = taskJson(monitored, data.parameters.include);
    return passingTask(endpoints.taskResponse, payload, `{"output":${output},"error":{},"warning":{}}`);
  },
};
