import { randomUUID } from 'node:crypto';
import type { ReadStream } from 'node:fs';
import { endpoints } from 'temporal-file-conversion/contract';
import { contentDisposition } from '../../files/file-name';
import { describeFileState } from '../../files/file-store';
import { inVersion, isTaskOf, versionOf } from '../../shared/api-version';
import { TaskError } from '../../shared/task-error';
import { formatTime, resultJson } from '../../tasks/answer';
import { requestSchemas } from '../../tasks/request-data';
import type { NewTask, Task } from '../../tasks/task-store';
import {
  type JsonEndpoint,
  requireRegistered,
  requireSuccessful,
  requireTask,
  type ServiceContext,
  type TaskRequest,
} from './endpoint';

/** `v1/download/url`: where to download the output of a conversion. */
export const downloadUrl: JsonEndpoint<typeof requestSchemas.dependentTask> = {
  path: endpoints.downloadUrl,
  rateClass: 'download',
  schema: requestSchemas.dependentTask,
  async run(request, context) {
    const { app, data, payload, endpoint, origin } = request;
    const converted = requireTask(data.connector, request, context);
    if (!isTaskOf(converted, endpoints.convertFile)) throw new TaskError('MISMATCH_DEPENDENT_TASK');
    requireSuccessful(converted);
    requireRegistered(app, converted);
    await requireFile(converted, context.files);

    const id = randomUUID();
    const now = Date.now();
    const output = {
      connector: id,
      name: converted.fileName ?? id,
      size: converted.fileSize ?? 0,
      expires_at: formatTime(converted.expiresAt ?? now),
      url: `${origin}/${inVersion(endpoints.downloadUrlGet, versionOf(endpoint))}`,
    };
    const task: NewTask & { result: string } = {
      id,
      app: app.appId,
      endpoint,
      status: 'completed',
      payload,
      result: resultJson({ output }),
      connector: converted.id,
      fileName: converted.fileName,
      fileSize: converted.fileSize,
      fileSha256: converted.fileSha256,
      expiresAt: converted.expiresAt,
      callback: data.callback ?? null,
      createdAt: now,
      startedAt: now,
      completedAt: now,
    };
    context.store.insert(task);
    return task;
  },
};

interface Download {
  readonly bytes: ReadStream;
  readonly headers: Readonly<Record<string, string | number>>;
}

/** `v1/download/url/get`: which bytes to send. They are read to their end, even when the file is removed in between. */
export async function findDownload(
  request: TaskRequest<{ connector: string }>,
  context: ServiceContext,
): Promise<Download> {
  const link = requireTask(request.data.connector, request, context);
  if (!isTaskOf(link, endpoints.downloadUrl)) throw new TaskError('MISMATCH_DEPENDENT_TASK');
  requireSuccessful(link);
  requireRegistered(request.app, link);
  const converted = requireTask(link.connector ?? '', request, context);
  const bytes = await context.files.read(await requireFile(converted, context.files));
  if (!bytes) throw new TaskError('FILE_NOT_EXISTS', { subject: describeFileState(converted) });
  const format = context.catalog.find(converted.outputFormat ?? '');
  return {
    bytes,
    headers: {
      'content-type': downloadType(format?.mediaType),
      'content-length': converted.fileSize ?? 0,
      'content-disposition': contentDisposition(converted.fileName ?? converted.id),
      // Whatever is in the file, no browser may run it as a page of this service.
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    },
  };
}

/** Public clients parse every JSON type as a task response. */
function downloadType(mediaType = 'application/octet-stream'): string {
  return /[/+]json\b/.test(mediaType) ? 'application/octet-stream' : mediaType;
}

async function requireFile(converted: Task, files: ServiceContext['files']): Promise<string> {
  if (converted.expiresAt !== null && converted.expiresAt <= Date.now()) throw new TaskError('DOWNLOAD_EXPIRED');
  const file = files.pathOf(converted);
  if (file === undefined || !(await files.exists(file)))
    throw new TaskError('FILE_NOT_EXISTS', { subject: describeFileState(converted) });
  return file;
}
