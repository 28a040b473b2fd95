import { randomUUID } from 'node:crypto';
import { endpoints } from '../../api/contract';
import { type AnsweredTask, formatTime, resultJson } from '../answer';
import type { ServiceApp } from '../authentication';
import { extensionOf, sanitizeFileName } from '../file-name';
import { uploadLifetimeMs } from '../lifetimes';
import { TaskError } from '../task-error';
import type { NewTask } from '../task-store';
import type { ServiceContext } from './endpoint';

export interface ReceivedFile {
  /** Where the bytes are, not yet under the id of a task. */
  readonly part: string;
  readonly size: number;
  readonly fileName: string;
  /** The limit cut it off. */
  readonly truncated: boolean;
}

/** `v1/upload/file`: keeps a received file as the first task of a job. Takes over the file only when it does not throw. */
export async function keepUpload(
  { app, payload, file }: { app: ServiceApp; payload: string; file: ReceivedFile },
  { store, files, catalog, maxUploadBytes }: ServiceContext,
): Promise<AnsweredTask> {
  if (file.truncated) throw new TaskError('LIMIT_UPLOAD_SIZE', { subject: String(Math.floor(maxUploadBytes / 1024)) });
  if (file.size === 0) throw new TaskError('EMPTY_FILE');
  const name = sanitizeFileName(file.fileName);
  const extension = extensionOf(name);
  if (!catalog.ofExtension(extension)) throw new TaskError('NOT_VALID_EXTENSION', { subject: extension });

  const id = randomUUID();
  await files.keepUpload(file.part, id);
  const now = Date.now();
  const expiresAt = now + uploadLifetimeMs;
  const output = { connector: id, name, size: file.size, expires_at: formatTime(expiresAt) };
  const task: NewTask & { result: string } = {
    id,
    app: app.appId,
    endpoint: endpoints.uploadFile,
    status: 'completed',
    payload,
    result: resultJson({ output }),
    fileName: name,
    fileSize: file.size,
    expiresAt,
    createdAt: now,
    startedAt: now,
    completedAt: now,
  };
  store.insert(task);
  return task;
}
