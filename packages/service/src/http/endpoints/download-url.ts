import { endpoints } from 'temporal-file-conversion/contract';
import { contentDisposition } from '../../files/file-name';
import { missingFile } from '../../files/file-store';
import { inVersion, isTaskOf, versionOf } from '../../shared/api-version';
import { TaskError } from '../../shared/task-error';
import { formatTime, resultJson } from '../../tasks/answer';
import { requestSchemas } from '../../tasks/request-data';
import type { NewTask, Task } from '../../tasks/task-store';
import {
  newTaskOf,
  type TaskEndpoint,
  requireRegistered,
  requireSuccessful,
  requireTask,
  type ServiceContext,
} from './endpoint';

/** `v1/download/url`: where to download the output of a conversion. */
export const downloadUrl: TaskEndpoint<typeof requestSchemas.dependentTask> = {
  path: endpoints.downloadUrl,
  rateClass: 'download',
  schema: requestSchemas.dependentTask,
  async run(request, context) {
    const { app, data, endpoint, origin } = request;
    const converted = requireTask(data.connector, request, context);
    if (!isTaskOf(converted, endpoints.convertFile)) throw new TaskError('MISMATCH_DEPENDENT_TASK');
    requireSuccessful(converted);
    requireRegistered(app, converted);
    await requireFile(converted, context.files);

    const base = newTaskOf(request);
    const { id } = base;
    const now = Date.now();
    const output = {
      connector: id,
      name: converted.fileName ?? id,
      size: converted.fileSize ?? 0,
      expires_at: formatTime(converted.expiresAt ?? now),
      url: `${origin}/${inVersion(endpoints.downloadUrlGet, versionOf(endpoint))}`,
    };
    const task: NewTask & { result: string } = {
      ...base,
      status: 'completed',
      result: resultJson({ output }),
      connector: converted.id,
      fileName: converted.fileName,
      fileSize: converted.fileSize,
      fileSha256: converted.fileSha256,
      expiresAt: converted.expiresAt,
      createdAt: now,
      startedAt: now,
      completedAt: now,
    };
    context.store.insert(task);
    return task;
  },
};

/** `v1/download/url/get`: the bytes of a converted file. They are read to their end, even when the file is removed in between. */
export const downloadUrlGet: TaskEndpoint<typeof requestSchemas.dependentTask> = {
  path: endpoints.downloadUrlGet,
  rateClass: 'download',
  schema: requestSchemas.dependentTask,
  async run(request, context) {
    const link = requireTask(request.data.connector, request, context);
    if (!isTaskOf(link, endpoints.downloadUrl)) throw new TaskError('MISMATCH_DEPENDENT_TASK');
    requireSuccessful(link);
    requireRegistered(request.app, link);
    const converted = requireTask(link.connector ?? '', request, context);
    const bytes = await context.files.read(await requireFile(converted, context.files));
    if (!bytes) throw missingFile(converted);
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
  },
};

/** Public clients parse every JSON type as a task response. */
function downloadType(mediaType = 'application/octet-stream'): string {
  return /[/+]json\b/.test(mediaType) ? 'application/octet-stream' : mediaType;
}

async function requireFile(converted: Task, files: ServiceContext['files']): Promise<string> {
  if (converted.expiresAt !== null && converted.expiresAt <= Date.now()) throw new TaskError('DOWNLOAD_EXPIRED');
  const file = files.pathOf(converted);
  if (file === undefined || !(await files.exists(file))) throw missingFile(converted);
  return file;
}
