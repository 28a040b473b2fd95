import type { FastifyInstance, FastifyRequest } from 'fastify';
import { messageOf } from '../shared/caught';
import type { ServiceLimits } from '../shared/limits';
import { TaskError } from '../shared/task-error';
import { fieldProblem, tooManyFields, unreadableForm } from '../tasks/request-data';

/** Forms without a file are small and read whole. */

export interface FormField {
  readonly name: string;
  /** It came with a file name. */
  readonly isFile: boolean;
  readonly value: string;
}

/** Each makes fields of a form; its size is limited as that of every body. */
export function addFormParsers(server: FastifyInstance): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) => {
    done(
      null,
      [...new URLSearchParams(String(body))].map(([name, value]) => ({ name, isFile: false, value })),
    );
  });
  server.addContentTypeParser('multipart/form-data', { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    let fields: FormField[];
    try {
      fields = readMultipartForm(body, request.headers['content-type'] ?? '');
    } catch (error) {
      done(error instanceof TaskError ? error : unreadableForm(messageOf(error)));
      return;
    }
    done(null, fields);
  });
  // Any other kind of body has no field named data, and the endpoint says so in the document's words.
  server.addContentTypeParser('*', (_request, payload, done) => {
    payload.resume();
    done(null, undefined);
  });
}

/** The text of the field `data` of a form that a content type parser has read; throws when the form holds anything else. */
export function dataFieldOf({ body }: FastifyRequest, { maxFormFields }: Pick<ServiceLimits, 'maxFormFields'>): string {
  // Any other kind of body is left unread, and none.
  const fields = (body ?? []) as readonly FormField[];
  if (fields.length > maxFormFields) throw tooManyFields(maxFormFields);
  return requireDataField(fields);
}

export function requireDataField(fields: readonly FormField[]): string {
  const [data, ...others] = fields.filter((field) => field.name === 'data');
  if (!data) throw fieldProblem('missing', 'data');
  if (data.isFile) throw fieldProblem('wrongType', 'data', 'it is a file; send its text (curl: data=<FILE)');
  if (others.length > 0) throw fieldProblem('wrongType', 'data', 'it is there more than once');
  const unknown = fields.find((field) => field.name !== 'data');
  if (unknown) throw fieldProblem('unknown', unknown.name);
  return data.value;
}

/**
 * Reads a multipart form (RFC 7578) in memory. Most requests are polls, and this takes a tenth of the time of a streaming
 * reader.
 */
export function readMultipartForm(body: Buffer, contentType: string): FormField[] {
  const match = /;\s*boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(contentType);
  const boundary = match?.[1] ?? match?.[2];
  if (boundary === undefined) throw unreadableForm('as its content type names no boundary');
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
