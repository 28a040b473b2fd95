import multipart, { type Multipart, type MultipartValue } from '@fastify/multipart';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { inspectError } from '../shared/caught';
import type { ServiceLimits } from '../shared/limits';
import { TaskError } from '../shared/task-error';
import {
  type AnyTaskData,
  fieldProblem,
  requestSchemas,
  tooManyFields,
  tooMuchData,
  unreadableForm,
} from '../tasks/request-data';
import type { Caller, ServiceContext, TaskRequest } from './endpoints/endpoint';
import { type ReceivedFile, tooLarge, uploadLimitOf } from './endpoints/upload-file';
import { readTaskRequest, RefusedTask } from './task-request';

/** Forms without a file are small and read whole. Of uploads, the file is streamed from the socket to the disk. */

export interface FormField {
  readonly name: string;
  /** It came with a file name. */
  readonly isFile: boolean;
  readonly value: string;
}

/** The text of the field `data` of a form that a content type parser has read; throws when the form holds anything else. */
export function dataFieldOf({ body }: FastifyRequest, { maxFormFields }: Pick<ServiceLimits, 'maxFormFields'>): string {
  // Any other kind of body is left unread, and none.
  const fields = (body ?? []) as readonly FormField[];
  if (fields.length > maxFormFields) throw tooManyFields(maxFormFields);
  return requireDataField(fields);
}

function requireDataField(fields: readonly FormField[]): string {
  const [data, ...others] = fields.filter((field) => field.name === 'data');
  if (!data) throw fieldProblem('missing', 'data');
  if (data.isFile) throw fieldProblem('wrongType', 'data', 'it is a file; send its text (curl: data=<FILE)');
  if (others.length > 0) throw fieldProblem('wrongType', 'data', 'it is there more than once');
  const unknown = fields.find((field) => field.name !== 'data');
  if (unknown) throw fieldProblem('unknown', unknown.name);
  return data.value;
}

export function readUrlencodedForm(body: string): FormField[] {
  return [...new URLSearchParams(body)].map(([name, value]) => ({ name, isFile: false, value }));
}

/**
 * Reads a multipart form (RFC 7578) in memory. Most requests are polls, and this takes a tenth of the time of a streaming
 * reader.
 */
export function readMultipartForm(body: Buffer, contentType: string): FormField[] {
  const boundary = boundaryOf(contentType);
  const delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1');
  // The first delimiter has no line before it.
  const text = Buffer.concat([Buffer.from('\r\n'), body]);
  const fields: FormField[] = [];
  let start = text.indexOf(delimiter);
  for (;;) {
    if (start === -1) throw unreadableForm('as it does not hold the boundary that its content type names');
    start += delimiter.length;
    if (text.toString('latin1', start, start + 2) === '--') return fields;
    const end = text.indexOf(delimiter, start);
    if (end === -1) throw unreadableForm('as it ends before its last boundary');
    fields.push(readPart(text.subarray(start, end)));
    start = end;
  }
}

function boundaryOf(contentType: string): string {
  const match = /;\s*boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(contentType);
  const boundary = match?.[1] ?? match?.[2];
  if (boundary === undefined) throw unreadableForm('as its content type names no boundary');
  return boundary;
}

function readPart(part: Buffer): FormField {
  const headerEnd = part.indexOf('\r\n\r\n');
  const headers = part.toString('utf8', 0, Math.max(0, headerEnd));
  const disposition = /\r\ncontent-disposition:(.*)/i.exec(headers)?.[1] ?? '';
  const name = /;\s*name=(?:"([^"]*)"|([^;\s]+))/i.exec(disposition);
  const isFile = /;\s*filename\*?=/i.test(disposition);
  const fieldName = name?.[1] ?? name?.[2] ?? '';
  // The content of a file in a small form does not matter: it is refused by its name.
  return { name: fieldName, isFile, value: isFile || headerEnd === -1 ? '' : part.toString('utf8', headerEnd + 4) };
}

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
