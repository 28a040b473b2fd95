import { randomUUID } from 'node:crypto';
import { endpoints } from '../../api/contract';
import { formatTime, resultJson } from '../answer';
import type { ServiceApp } from '../authentication';
import { contentDisposition } from '../file-name';
import { requestSchemas } from '../request-data';
import { TaskError } from '../task-error';
import type { NewTask, Task } from '../task-store';
import { type JsonEndpoint, requireSuccessful, requireTask, type ServiceContext } from './endpoint';

/** `v1/download/url`: the way to the output of a conversion. */
export const downloadUrl: JsonEndpoint<typeof requestSchemas.dependentTask> = {
  path: endpoints.downloadUrl,
  schema: requestSchemas.dependentTask,
  async run({ app, data, payload }, { store, files }) {
    const converted = requireTask(store, data.connector, app);
    if (converted.endpoint !== endpoints.convertFile) throw new TaskError('MISMATCH_DEPENDENT_TASK');
    requireSuccessful(converted);
    await requireFile(converted, files);

    const id = randomUUID();
    const now = Date.now();
    const output = {
      connector: id,
      name: converted.fileName ?? id,
      size: converted.fileSize ?? 0,
      expires_at: formatTime(converted.expiresAt ?? now),
      url: `/${endpoints.downloadUrlGet}`,
    };
    const task: NewTask & { result: string } = {
      id,
      app: app.appId,
      endpoint: endpoints.downloadUrl,
      status: 'completed',
      payload,
      result: resultJson({ output }),
      connector: converted.id,
      fileName: converted.fileName,
      fileSize: converted.fileSize,
      expiresAt: converted.expiresAt,
      createdAt: now,
      startedAt: now,
      completedAt: now,
    };
    store.insert(task);
    return task;
  },
};

interface Download {
  readonly file: string;
  readonly headers: Readonly<Record<string, string | number>>;
}

/** `v1/download/url/get`: which bytes to send. */
export async function findDownload(
  { app, connector }: { app: ServiceApp; connector: string },
  { store, files, catalog }: ServiceContext,
): Promise<Download> {
  const link = requireTask(store, connector, app);
  if (link.endpoint !== endpoints.downloadUrl) throw new TaskError('MISMATCH_DEPENDENT_TASK');
  const converted = requireTask(store, link.connector ?? '', app);
  const file = await requireFile(converted, files);
  const format = catalog.find(converted.outputFormat ?? '');
  return {
    file,
    headers: {
      'content-type': format?.mediaType ?? 'application/octet-stream',
      'content-length': converted.fileSize ?? 0,
      'content-disposition': contentDisposition(converted.fileName ?? converted.id),
      // What is in the file is its owner's business: no browser may run it as a page of this service.
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    },
  };
}

async function requireFile(converted: Task, files: ServiceContext['files']): Promise<string> {
  if (converted.expiresAt !== null && converted.expiresAt <= Date.now()) throw new TaskError('DOWNLOAD_EXPIRED');
  const file = files.pathOf(converted);
  if (file === undefined || !(await files.exists(file)))
    throw new TaskError('FILE_NOT_EXISTS', { subject: 'converted' });
  return file;
}
