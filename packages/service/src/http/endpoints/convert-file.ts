import { endpoints } from 'temporal-file-conversion/contract';
import type { Account } from '../../accounts/account';
import { priceOf } from '../../accounts/vcredits';
import { chooseInput, formatName, requireFormat, requireRoute } from '../../engines/formats';
import { withExtension } from '../../files/file-name';
import { missingFile } from '../../files/file-store';
import { isTaskOf, taskPathOf } from '../../shared/api-version';
import { TaskError } from '../../shared/task-error';
import type { AnsweredTask } from '../../tasks/answer';
import { requestSchemas } from '../../tasks/request-data';
import type { NewTask, Task, TaskStore } from '../../tasks/task-store';
import {
  newTaskOf,
  type TaskEndpoint,
  requireRegistered,
  requireSuccessful,
  requireTask,
  type ServiceContext,
} from './endpoint';

/** `v1/convert/file`: accepts a conversion and, in mode sync, waits for its end. */
export const convertFile: TaskEndpoint<typeof requestSchemas.convertFile> = {
  path: endpoints.convertFile,
  rateClass: 'submit',
  schema: requestSchemas.convertFile,
  async run(request, context) {
    const { app, data } = request;
    const { store, files, queue, catalog } = context;
    const source = requireTask(data.connector, request, context);
    await requireSourceFile(source, files);
    requireRegistered(app, source);
    const { output: to, input: named, ...parameters } = data.parameters;
    const output = requireFormat(catalog, to, 'output');
    const input = chooseInput(catalog, { named, fileName: source.fileName ?? '' });
    requireRoute(catalog, input, output, parameters);
    requireFreeConversion(app, store);

    const now = Date.now();
    const task: NewTask = {
      ...newTaskOf(request),
      status: 'hold',
      connector: source.id,
      inputFormat: formatName(input),
      outputFormat: formatName(output),
      fileName: withExtension(source.fileName ?? '', output.extensions[0]),
      fileSha256: source.fileSha256,
      createdAt: now,
    };
    store.admit(task, priceOf(app.prices, formatName(input), formatName(output)));
    queue.enqueue(task.id);
    // Public clients take any other status for a failure. Monitoring shows whether the task is still on hold.
    if (data.mode === 'async') return { ...task, status: 'running', startedAt: now };
    await queue.finished(task.id);
    return requireCompleted(store.findOfApp(task.id, app.appId), task.id);
  },
};

/** The upload succeeded, and its file has neither expired nor been removed. */
async function requireSourceFile(source: Task, files: ServiceContext['files']): Promise<void> {
  const file = files.pathOf(source);
  if (file === undefined || !isTaskOf(source, endpoints.uploadFile)) throw new TaskError('MISMATCH_DEPENDENT_TASK');
  requireSuccessful(source);
  const expired = source.expiresAt !== null && source.expiresAt <= Date.now();
  if (expired || !(await files.exists(file))) throw missingFile(source);
}

/** The free app has a daily limit. */
function requireFreeConversion({ appId, freeApp }: Account, store: TaskStore): void {
  if (!freeApp) return;
  const dayMs = 24 * 60 * 60 * 1000;
  const today = Math.floor(Date.now() / dayMs) * dayMs;
  if (store.countSince(appId, today, taskPathOf(endpoints.convertFile)) < freeApp.dailyConversions) return;
  const hours = Math.max(1, Math.ceil((today + dayMs - Date.now()) / (60 * 60 * 1000)));
  throw new TaskError('FREE_APP_LIMITED', { subject: String(hours) });
}

function requireCompleted(task: Task | undefined, id: string): AnsweredTask {
  if (task?.status === 'completed') return task;
  throw new TaskError('INTERNAL_SERVER_ERROR', {
    message: `The service is shutting down; conversion ${id} goes on when it starts again. Ask task/response for it.`,
  });
}
