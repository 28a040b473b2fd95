import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { classOfEndpoint, endpoints } from 'temporal-file-conversion/contract';
import { fileExtension, sanitizeFileName } from '../files/file-name';
import type { ServiceFiles } from '../files/file-store';
import { routesOf } from '../shared/api-version';
import { TaskError } from '../shared/task-error';
import { type AnsweredTask, formatTime, resultJson } from '../tasks/answer';
import { type AnyTaskData, fieldProblem, requestSchemas, tooManyFields } from '../tasks/request-data';
import { dataFieldOf, type FormField, multipart, readField, requireDataField } from './form';
import { type FormPart, readParts } from './multipart';
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

type ReceivedFile = Awaited<ReturnType<ServiceFiles['receive']>> & {
  readonly fileName: string;
  readonly problem: TaskError | undefined;
  readonly receivedAt: number;
};

export function addUploadRoute(server: FastifyInstance, { versions, admission, context }: RouteOptions): void {
  void server.register((scope, _options, done) => {
    scope.removeContentTypeParser(multipart);
    scope.addContentTypeParser(multipart, (_request, payload, parsed) => parsed(null, payload));
    for (const { url, endpoint } of routesOf(endpoints.uploadFile, versions)) {
      scope.post(
        url,
        { config: { asked: { endpoint, rateClass: classOfEndpoint(endpoints.uploadFile) } } },
        async (request, reply) => {
          const { upload, task } = await receiveUpload(request, callerOf(request, endpoint, admission), context);
          return sendTask(reply, task, upload, context);
        },
      );
    }
    done();
  });
}

/**
 * Reads an upload and keeps its file. If anything goes wrong, no file is left behind. If `data` comes before the file and is invalid, or
 * the app is refused, the file is not stored at all.
 */
async function receiveUpload(request: FastifyRequest, caller: Caller, context: ServiceContext) {
  const { files, limits } = context;
  const { maxUploadBytes, maxFormFields } = limits;
  const receivedAt = Date.now();
  // 0 for a chunked body, whose size is unknown.
  const declared = Number(request.headers['content-length'] ?? 0);
  const limit = Math.min(caller.app.maxUploadBytes ?? maxUploadBytes, maxUploadBytes);
  const readData = (field: string) => readTaskRequest(field, { ...caller, schema: requestSchemas.uploadFile, limits });
  const fields: FormField[] = [];
  let file: ReceivedFile | undefined;
  let asked: TaskRequest<AnyTaskData> | undefined;
  try {
    for await (const part of partsOf(request)) {
      if (part.name !== 'file') {
        if (fields.length === maxFormFields) throw tooManyFields(maxFormFields);
        fields.push(await readField(part, limits.maxDataBytes));
        if (caller.refusal && part.name === 'data') readData(requireDataField(fields));
        continue;
      }
      if (caller.refusal) throw caller.refusal;
      if (file) throw fieldProblem('wrongType', 'file', 'it is there more than once');
      if (!part.fileName) throw nameless();
      if (fields.some(({ name }) => name === 'data')) asked = readData(requireDataField(fields));
      if (asked && declared > limit + limits.maxDataBytes) throw tooLarge(limit, declared);
      const upTo = { bytes: limit, isOver: false };
      const received = await files.receive(firstOf(part.bytes, upTo), Math.min(declared, limit));
      const problem = upTo.isOver ? tooLarge(limit, declared) : undefined;
      file = { ...received, fileName: part.fileName, problem, receivedAt };
      if (upTo.isOver && asked) break;
    }
    const upload = readData(request.body instanceof Readable ? requireDataField(fields) : dataFieldOf(request, limits));
    if (!file) throw fieldProblem('missing', 'file');
    const received = file;
    return { upload, task: await runTask(upload, () => keepUpload(upload, received, context)) };
  } catch (error) {
    const isPlain = error instanceof TaskError && !(error instanceof RefusedTask);
    throw asked && isPlain ? new RefusedTask(error, asked) : error;
  } finally {
    // Drains unread bytes, or the next request on this connection would wait behind them forever.
    request.raw.resume();
    // Already moved if it was kept.
    if (file) await files.discard(file.part);
  }
}

/** None for forms of another kind, whose fields have been read already. */
async function* partsOf({ body, headers }: FastifyRequest): AsyncGenerator<FormPart> {
  if (body instanceof Readable)
    yield* readParts(body.iterator({ destroyOnReturn: false }), headers['content-type'] ?? '');
}

/** The first bytes, up to this number; sets `isOver` if there are more. */
async function* firstOf(all: AsyncIterable<Buffer>, upTo: { bytes: number; isOver: boolean }): AsyncGenerator<Buffer> {
  let left = upTo.bytes;
  for await (const chunk of all) {
    upTo.isOver = chunk.length > left;
    yield upTo.isOver ? chunk.subarray(0, left) : chunk;
    if (upTo.isOver) return;
    left -= chunk.length;
  }
}

function nameless(): TaskError {
  const example = 'Content-Disposition: form-data; name="file"; filename="report.docx" (curl: -F file=@report.docx)';
  return fieldProblem('wrongType', 'file', `its part has no file name; send ${example}`);
}

/** Names the limit and the size of the request (0: unknown) in KB; it is little larger than its file. */
function tooLarge(limit: number, requestBytes: number): TaskError {
  const reason = requestBytes === 0 ? undefined : `the request has ${inKB(requestBytes)} KB`;
  return new TaskError('LIMIT_UPLOAD_SIZE', { subject: inKB(limit), reason });
}

function inKB(bytes: number): string {
  return String(Number((bytes / 1024).toFixed(bytes < 100 * 1024 ? 1 : 0)));
}

/** Keeps a received file as the first task of a job. Takes over the file only if it does not throw. */
async function keepUpload(
  request: TaskRequest<AnyTaskData>,
  { part, size, sha256, fileName, problem, receivedAt }: ReceivedFile,
  { store, files, catalog }: ServiceContext,
): Promise<AnsweredTask> {
  const { app } = request;
  if (problem) throw problem;
  if (size === 0) throw new TaskError('EMPTY_FILE');
  const name = sanitizeFileName(fileName);
  const extension = fileExtension(name);
  if (extension === '') {
    const message = `The file name ${name} has no extension, which tells the format of the file.`;
    throw new TaskError('NOT_VALID_EXTENSION', { message });
  }
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
