import { endpoints } from '../../api/contract';
import { passingTask, resultJson } from '../answer';
import { requestSchemas } from '../request-data';
import { TaskError } from '../task-error';
import type { Task } from '../task-store';
import { type JsonEndpoint, requireTask } from './endpoint';

/** `v1/convert/status`: how far a conversion is. */
export const convertStatus: JsonEndpoint<typeof requestSchemas.dependentTask> = {
  path: endpoints.convertStatus,
  schema: requestSchemas.dependentTask,
  run({ app, data, payload }, { store, queue }) {
    const task = requireTask(store, data.connector, app);
    if (task.endpoint !== endpoints.convertFile) throw new TaskError('MISMATCH_DEPENDENT_TASK');
    const output = { status: describeProgress(task, queue.isWaiting(task.id)) };
    return passingTask(endpoints.convertStatus, payload, resultJson({ output }));
  },
};

function describeProgress(task: Task, isWaiting: boolean): 'waiting' | 'pending' | 'successful' | 'failed' {
  if (task.status === 'completed') return task.errorCode === null ? 'successful' : 'failed';
  return isWaiting ? 'waiting' : 'pending';
}
