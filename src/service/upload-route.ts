import multipart, { type MultipartValue } from '@fastify/multipart';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ServiceApp } from './authentication';
import { requireSameApp } from './authentication';
import type { ServiceContext } from './endpoints/endpoint';
import type { ReceivedFile } from './endpoints/upload-file';
import { dataFieldOf } from './form';
import { type ParsedData, parseRequestData, requestSchemas } from './request-data';
import { TaskError } from './task-error';

/** Reading upload forms: the file goes from the socket to the disk and is never in memory as a whole. */

type UploadData = ParsedData<ReturnType<typeof requestSchemas.uploadFile.parse>>;

/** Makes uploads readable in this scope of the server. */
export async function registerUploadForms(
  scope: FastifyInstance,
  { maxUploadBytes, maxDataBytes }: { maxUploadBytes: number; maxDataBytes: number },
): Promise<void> {
  await scope.register(multipart, {
    throwFileSizeLimit: false,
    limits: { fileSize: maxUploadBytes, files: 1, fields: 20, parts: 21, fieldSize: maxDataBytes },
  });
}

/**
 * Reads an upload and gives its data and file to `keep`. Whatever goes wrong, no file is left that `keep` has not taken. When
 * `data` comes before the file and is wrong, the file is not stored at all.
 */
export async function receiveUpload<Kept>(
  request: FastifyRequest,
  { app, files }: { app: ServiceApp; files: ServiceContext['files'] },
  keep: (upload: UploadData & { file: ReceivedFile }) => Promise<Kept>,
): Promise<Kept> {
  let field: unknown = request.isMultipart() ? undefined : dataFieldOf(request);
  let file: ReceivedFile | undefined;
  try {
    if (request.isMultipart()) {
      for await (const part of request.parts()) {
        if (part.type === 'field') {
          if (part.fieldname === 'data') field = fieldText(part);
        } else if (part.fieldname !== 'file') {
          part.file.resume();
        } else {
          if (field !== undefined) parseUploadData(field, app);
          const received = await files.receive(part.file);
          file = { ...received, fileName: part.filename, truncated: part.file.truncated };
        }
      }
    }
    const parsed = parseUploadData(field, app);
    if (!file) throw new TaskError('MISSING_REQUIRED_FIELD', { subject: 'file' });
    return await keep({ ...parsed, file });
  } catch (error) {
    // The rest of the body is read away, or the next request on this connection would wait behind it for ever.
    request.raw.unpipe();
    request.raw.resume();
    throw error;
  } finally {
    // Gone already when it was kept.
    if (file) await files.discard(file.part);
  }
}

function parseUploadData(field: unknown, app: ServiceApp): UploadData {
  const parsed = parseRequestData(field, requestSchemas.uploadFile);
  requireSameApp(app, parsed.data.app);
  return parsed;
}

/** The text of a form field. A part that calls itself JSON comes parsed from the form reader. */
function fieldText({ value, valueTruncated }: MultipartValue): string {
  // A truncated field cannot be valid: what is left of it must not be taken for all of it.
  if (valueTruncated) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
