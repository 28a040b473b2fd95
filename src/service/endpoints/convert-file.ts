import { randomUUID } from 'node:crypto';
import { endpoints } from '../../api/contract';
import type { AnsweredTask } from '../answer';
import { withExtension } from '../file-name';
import { chooseInput, chooseOutput, requireRoute } from '../format-choice';
import { formatName } from '../formats';
import { requestSchemas } from '../request-data';
import { TaskError } from '../task-error';
import type { NewTask, Task } from '../task-store';
import { type JsonEndpoint, requireSuccessful, requireTask } from './endpoint';

/** `v1/convert/file`: accepts a conversion and, in mode sync, waits for its end. */
export const convertFile: JsonEndpoint<typeof requestSchemas.convertFile> = {
  path: endpoints.convertFile,
  schema: requestSchemas.convertFile,
  async run({ app, data, payload }, { store, files, queue, catalog }) {
    checkCallback(data.callback);
    const source = requireTask(store, data.connector, app);
    if (files.pathOf(source) === undefined) throw new TaskError('MISMATCH_DEPENDENT_TASK');
    requireSuccessful(source);
    requireUnexpired(source);
    const output = chooseOutput(catalog, data.parameters.output);
    const input = chooseInput(catalog, {
      named: data.parameters.input,
      fileName: source.fileName ?? '',
      madeAs: source.outputFormat,
    });
    requireRoute(catalog, input, output);

    const now = Date.now();
    // Accepted is running: waiting for an engine counts as running for the clients that are known.
    const task: NewTask = {
      id: randomUUID(),
      app: app.appId,
      endpoint: endpoints.convertFile,
      status: 'running',
      payload,
      connector: source.id,
      inputFormat: formatName(input),
      outputFormat: formatName(output),
      fileName: withExtension(source.fileName ?? '', output.extensions[0]),
      callback: data.callback ?? null,
      createdAt: now,
      startedAt: now,
    };
    store.insert(task);
    queue.enqueue(task.id);
    if (data.mode === 'async') return task;
    await queue.finished(task.id);
    return requireCompleted(store.findOfApp(task.id, app.appId), task.id);
  },
};

/** No domain is verified for any app yet, so a well-formed callback is refused as the document asks. */
function checkCallback(callback: string | undefined): void {
  if (callback === undefined) return;
  if (!URL.canParse(callback) || !/^https?:$/.test(new URL(callback).protocol)) throw new TaskError('INVALID_CALLBACK');
  throw new TaskError('UNVERIFIED_DOMAIN_CALLBACK');
}

function requireUnexpired(source: Task): void {
  if (source.expiresAt !== null && source.expiresAt <= Date.now()) {
    throw new TaskError('FILE_NOT_EXISTS', {
      subject: source.endpoint === endpoints.uploadFile ? 'uploaded' : 'converted',
    });
  }
}

function requireCompleted(task: Task | undefined, id: string): AnsweredTask {
  if (task?.status === 'completed') return task;
  throw new TaskError('INTERNAL_SERVER_ERROR', {
    message: `The service is shutting down; conversion ${id} goes on when it starts again. Ask task/response for it.`,
  });
}
