import { endpoints } from 'temporal-file-conversion/contract';
import { isTaskOf } from './api-version';

/** The state of a task's file, as FILE_NOT_EXISTS names it: "The file (in the named state) does not exist". */
export function describeFileState(task: { endpoint: string }): 'uploaded' | 'converted' {
  return isTaskOf(task, endpoints.uploadFile) ? 'uploaded' : 'converted';
}
