import multipart, { type Multipart, type MultipartValue } from '@fastify/multipart';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { inspectError } from '../shared/caught';
import type { ServiceLimits } from '../shared/limits';
import { TaskError } from '../shared/task-error';
import { type AnyTaskData, requestSchemas } from '../tasks/request-data';
import { fieldProblem, tooMuchData, unreadableForm } from '../tasks/request-problems';
import type { Caller, ServiceContext, TaskRequest } from './endpoints/endpoint';
import { type ReceivedFile, tooLarge, uploadLimitOf } from './endpoints/upload-file';
import { dataFieldOf, type FormField, requireDataField } from './form';
import { readTaskRequest, RefusedTask } from './task-request';

/** Upload forms: the file is streamed from the socket to the disk. */

/** Makes uploads readable in this scope of the server. */
export async function registerUploadForms(
  scope: FastifyInstance,
  { maxUploadBytes, maxDataBytes, maxFormFields }: ServiceLimits,
): Promise<void> {
  await scope.register(multipart, {
    throwFileSizeLimit: false,
    limits: {
      fileSize: maxUploadBytes,
      files: 1,
      fields: maxFormFields,
      parts: maxFormFields + 1,
      fieldSize: maxDataBytes,
    },
  });
}

/**
 * Reads an upload and gives its data and file to `keep`. Whatever goes wrong, no file is left that `keep` has not taken. If
 * `data` comes before the file and is invalid, the file is not stored at all.
 */
export async function receiveUpload<Kept>(
  request: FastifyRequest,
  { files, limits, ...caller }: Caller & Pick<ServiceContext, 'files' | 'limits'>,
  keep: (upload: TaskRequest<AnyTaskData> & { file: ReceivedFile }) => Promise<Kept>,
): Promise<Kept> {
  const { app, endpoint, origin } = caller;
  const receivedAt = Date.now();
  // Unknown for a chunked body.
  const declared = Number(request.headers['content-length'] ?? 0);
  const readData = (field: string) =>
    readTaskRequest(field, { app, endpoint, origin, schema: requestSchemas.uploadFile, limits });
  const limit = uploadLimitOf(app, limits);
  const fields: FormField[] = [];
  let file: ReceivedFile | undefined;
  try {
    if (request.isMultipart()) {
      for await (const part of readParts(request, limit)) {
        if (part.type === 'field') {
          fields.push({ name: nameOf(part), isFile: false, value: fieldText(part, limits) });
        } else if (part.fieldname !== 'file') {
          part.file.resume();
          fields.push({ name: nameOf(part), isFile: true, value: '' });
        } else {
          if (fields.some(({ name }) => name === 'data')) {
            const asked = readData(dataFieldIn(fields));
            if (declared > limit + limits.maxDataBytes) throw new RefusedTask(tooLarge(limit, declared), asked);
          }
          const received = await files.receive(part.file, Math.min(declared, limit)).catch((error: unknown) => {
            throw formProblem(error);
          });
          const { truncated } = part.file;
          file = { ...received, fileName: part.filename, truncated, declaredBytes: declared, receivedAt };
        }
      }
    }
    const field = request.isMultipart() ? dataFieldIn(fields) : dataFieldOf(request, limits);
    const upload = readData(field);
    if (!file) throw fieldProblem('missing', 'file');
    return await keep({ ...upload, file });
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

/** Whatever the parser's types say, a part may come without a name. */
function nameOf({ fieldname = '' }: { fieldname?: string }): string {
  return fieldname;
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
