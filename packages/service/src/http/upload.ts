import multipart, { type Multipart, type MultipartValue } from '@fastify/multipart';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { endpoints } from 'temporal-file-conversion/contract';
import { extensionOf, sanitizeFileName } from '../files/file-name';
import type { FileStore } from '../files/file-store';
import { routesOf } from '../shared/api-version';
import { inspectError } from '../shared/caught';
import type { ServiceLimits } from '../shared/limits';
import { TaskError } from '../shared/task-error';
import { type AnsweredTask, formatTime, resultJson } from '../tasks/answer';
import { type AnyTaskData, fieldProblem, requestSchemas, tooMuchData, unreadableForm } from '../tasks/request-data';
import { dataFieldOf, type FormField, requireDataField } from './form';
import {
  type Caller,
  callerOf,
  newTaskOf,
  readTaskRequest,
  RefusedTask,
  requireRegistered,
  type RouteOptions,
  runTask,
  sendTask,
  type ServiceContext,
  type TaskRequest,
} from './task-request';

/** `v1/upload/file`: the file is streamed from the socket to the disk. */

type ReceivedFile = Awaited<ReturnType<FileStore['receive']>> & {
  readonly fileName: string;
  /** What is wrong with its size. */
  readonly problem: TaskError | undefined;
  /** When the request came. */
  readonly receivedAt: number;
};

export async function addUploadRoute(
  server: FastifyInstance,
  { versions, admission, context }: RouteOptions,
): Promise<void> {
  const { maxUploadBytes, maxDataBytes, maxFormFields } = context.limits;
  const limits = { fileSize: maxUploadBytes, files: 1, fields: maxFormFields, parts: maxFormFields + 1 };
  await server.register(async (scope) => {
    scope.removeContentTypeParser('multipart/form-data');
    await scope.register(multipart, { throwFileSizeLimit: false, limits: { ...limits, fieldSize: maxDataBytes } });
    for (const { url, endpoint } of routesOf(endpoints.uploadFile, versions)) {
      scope.post(url, { config: { asked: { endpoint, rateClass: 'upload' } } }, async (request, reply) => {
        const { upload, task } = await receiveUpload(request, callerOf(request, endpoint, admission), context);
        return sendTask(reply, task, upload, context);
      });
    }
  });
}

/**
 * Reads an upload and keeps its file. Whatever goes wrong, no file is left that is not kept. If `data` comes before the file and is
 * invalid, the file is not stored at all.
 */
async function receiveUpload(request: FastifyRequest, caller: Caller, context: ServiceContext) {
  const { files, limits } = context;
  const { maxUploadBytes } = limits;
  const receivedAt = Date.now();
  // Unknown for a chunked body.
  const declared = Number(request.headers['content-length'] ?? 0);
  const limit = Math.min(caller.app.maxUploadBytes ?? maxUploadBytes, maxUploadBytes);
  const readData = (field: string) => readTaskRequest(field, { ...caller, schema: requestSchemas.uploadFile, limits });
  const fields: FormField[] = [];
  let file: ReceivedFile | undefined;
  try {
    if (request.isMultipart()) {
      for await (const part of readParts(request, limit)) {
        // Whatever the parser's types say, a part may come without a name.
        const name = (part.fieldname as string | undefined) ?? '';
        if (part.type === 'field') {
          fields.push({ name, isFile: false, value: fieldText(part, limits) });
        } else if (name !== 'file') {
          part.file.resume();
          fields.push({ name, isFile: true, value: '' });
        } else {
          if (fields.some((field) => field.name === 'data')) {
            const asked = readData(dataFieldIn(fields));
            if (declared > limit + limits.maxDataBytes) throw new RefusedTask(tooLarge(limit, declared), asked);
          }
          const received = await files.receive(part.file, Math.min(declared, limit)).catch((error: unknown) => {
            throw formProblem(error);
          });
          const problem = part.file.truncated ? tooLarge(limit, declared) : undefined;
          file = { ...received, fileName: part.filename, problem, receivedAt };
        }
      }
    }
    const upload = readData(request.isMultipart() ? dataFieldIn(fields) : dataFieldOf(request, limits));
    if (!file) throw fieldProblem('missing', 'file');
    const received = file;
    return { upload, task: await runTask(upload, () => keepUpload(upload, received, context)) };
  } catch (error) {
    // Drain the rest of the body, or the next request on this connection would wait behind it for ever.
    request.raw.unpipe();
    request.raw.resume();
    throw error;
  } finally {
    // Already moved if it was kept.
    if (file) await files.discard(file.part);
  }
}

/** The parts of a form, in order; an unreadable form is the sender's mistake. */
async function* readParts(request: FastifyRequest, maxFileBytes: number): AsyncGenerator<Multipart> {
  try {
    for await (const part of request.parts({ limits: { fileSize: maxFileBytes } })) {
      // Where errors of Node's own come from another realm, the reader takes one for a part.
      if (inspectError(part).stack !== undefined) throw formProblem(part);
      yield part;
    }
  } catch (error) {
    throw formProblem(error);
  }
}

/** Errors of the form reader have no code of any kind; those of the disk have a system call and are not the sender's fault. */
function formProblem(error: unknown): unknown {
  const { syscall, statusCode, message = '' } = inspectError(error);
  if (error instanceof TaskError || syscall !== undefined || statusCode !== undefined) return error;
  return unreadableForm(message);
}

function dataFieldIn(fields: readonly FormField[]): string {
  // Without a file name the part counts as text.
  if (fields.some(({ name }) => name === 'file')) throw fieldProblem('wrongType', 'file');
  return requireDataField(fields);
}

/** The text of a form field; the form reader has parsed parts with a JSON content type. */
function fieldText({ fieldname, value, valueTruncated }: MultipartValue, { maxDataBytes }: ServiceLimits): string {
  if (valueTruncated) throw fieldname === 'data' ? tooMuchData(maxDataBytes) : fieldProblem('unknown', fieldname);
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Names the limit and the size in KB. The request, whose size is 0 when it does not say, is little larger than its file. */
function tooLarge(limit: number, requestBytes: number): TaskError {
  const reason = requestBytes === 0 ? undefined : `it has ${Math.ceil(requestBytes / 1024)} KB`;
  return new TaskError('LIMIT_UPLOAD_SIZE', { subject: String(Math.floor(limit / 1024)), reason });
}

/** Keeps a received file as the first task of a job. Takes over the file only when it does not throw. */
async function keepUpload(
  request: TaskRequest<AnyTaskData>,
  { part, size, sha256, fileName, problem, receivedAt }: ReceivedFile,
  { store, files, catalog }: ServiceContext,
): Promise<AnsweredTask> {
  const { app } = request;
  if (problem) throw problem;
  if (size === 0) throw new TaskError('EMPTY_FILE');
  const name = sanitizeFileName(fileName);
  const extension = extensionOf(name);
  const isAllowed = app.allowedExtensions?.has(extension) ?? true;
  if (!isAllowed || !catalog.ofExtension(extension)) throw new TaskError('NOT_VALID_EXTENSION', { subject: extension });
  requireRegistered(app, { fileSha256: sha256 });

  const base = newTaskOf(request);
  const { id } = base;
  const kept = await files.keepUpload(part, id);
  const now = Date.now();
  const expiresAt = now + app.uploadLifetimeMs;
  const result = resultJson({ output: { connector: id, name, size, expires_at: formatTime(expiresAt) } });
  const file = { fileName: name, fileSize: size, fileSha256: sha256, expiresAt };
  const times = { createdAt: receivedAt, startedAt: receivedAt, completedAt: now };
  try {
    return store.insert({ ...base, status: 'completed', result, ...file, ...times });
  } catch (error) {
    await files.discard(kept);
    throw error;
  }
}
