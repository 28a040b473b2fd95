import type { Account } from '../../accounts/account';
import { extensionOf, sanitizeFileName } from '../../files/file-name';
import type { ServiceLimits } from '../../shared/limits';
import { TaskError } from '../../shared/task-error';
import { type AnsweredTask, formatTime, resultJson } from '../../tasks/answer';
import type { AnyTaskData } from '../../tasks/request-data';
import type { NewTask } from '../../tasks/task-store';
import { newTaskOf, type ServiceContext, type TaskRequest } from './endpoint';

export interface ReceivedFile {
  /** Path of the bytes, not yet under the id of a task. */
  readonly part: string;
  readonly size: number;
  readonly sha256: string;
  readonly fileName: string;
  /** Cut off at the limit. */
  readonly truncated: boolean;
  /** Of the whole request; 0 when it does not say. */
  readonly declaredBytes: number;
  /** When the request came. */
  readonly receivedAt: number;
}

/** `v1/upload/file`: keeps a received file as the first task of a job. Takes over the file only when it does not throw. */
export async function keepUpload(
  { file, ...request }: TaskRequest<AnyTaskData> & { file: ReceivedFile },
  { store, files, catalog, limits }: ServiceContext,
): Promise<AnsweredTask> {
  const { app } = request;
  if (file.truncated) throw tooLarge(uploadLimitOf(app, limits), file.declaredBytes);
  if (file.size === 0) throw new TaskError('EMPTY_FILE');
  const name = sanitizeFileName(file.fileName);
  const extension = extensionOf(name);
  const isAllowed = app.allowedExtensions?.has(extension) ?? true;
  if (!isAllowed || !catalog.ofExtension(extension)) throw new TaskError('NOT_VALID_EXTENSION', { subject: extension });
  if (app.registeredHashes && !app.registeredHashes.has(file.sha256)) throw new TaskError('ONLY_DEVELOPMENT_REQUEST');

  const base = newTaskOf(request);
  const { id } = base;
  await files.keepUpload(file.part, id);
  const now = Date.now();
  const expiresAt = now + app.uploadLifetimeMs;
  const output = { connector: id, name, size: file.size, expires_at: formatTime(expiresAt) };
  const task: NewTask & { result: string } = {
    ...base,
    status: 'completed',
    result: resultJson({ output }),
    fileName: name,
    fileSize: file.size,
    fileSha256: file.sha256,
    expiresAt,
    createdAt: file.receivedAt,
    startedAt: file.receivedAt,
    completedAt: now,
  };
  try {
    store.insert(task);
  } catch (error) {
    const kept = files.pathOf(task);
    if (kept !== undefined) await files.discard(kept);
    throw error;
  }
  return task;
}

/** Names the limit and the size in KB. The request is little larger than its file. */
export function tooLarge(limit: number, requestBytes: number): TaskError {
  const limitKb = String(Math.floor(limit / 1024));
  const reason = requestBytes === 0 ? undefined : `it has ${Math.ceil(requestBytes / 1024)} KB`;
  return new TaskError('LIMIT_UPLOAD_SIZE', { subject: limitKb, reason });
}

/** Bytes that one upload may have. */
export function uploadLimitOf(app: Account, { maxUploadBytes }: Pick<ServiceLimits, 'maxUploadBytes'>): number {
  return Math.min(app.maxUploadBytes ?? maxUploadBytes, maxUploadBytes);
}
