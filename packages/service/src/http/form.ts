import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ServiceLimits } from '../shared/limits';
import { fieldProblem, tooManyFields, tooMuchData } from '../tasks/request-data';
import { decode, type FormPart, FormReader, type PartHead } from './multipart';

/** Forms without a file are small, and are read as a whole. */

export interface FormField {
  readonly name: string;
  readonly isFile: boolean;
  readonly value: string;
}

type FieldLimits = Pick<ServiceLimits, 'maxFormFields'>;

export const multipart = 'multipart/form-data';

/** The parsers produce the fields of a form; the general limit of bodies applies. */
export function addFormParsers(server: FastifyInstance, limits: FieldLimits): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) => {
    done(
      null,
      [...new URLSearchParams(String(body))].map(([name, value]) => ({ name, isFile: false, value })),
    );
  });
  server.addContentTypeParser(multipart, { parseAs: 'buffer' }, (request: FastifyRequest, body: Buffer, done) => {
    try {
      done(null, fieldsOf(body, request.headers['content-type'] ?? '', limits));
    } catch (error) {
      done(error as Error);
    }
  });
  // Other bodies have no field `data`, which the endpoint reports in the document's words.
  server.addContentTypeParser('*', (_request, payload, done) => {
    payload.resume();
    done(null, undefined);
  });
}

/** Fields of a form that is in memory: most requests are polls and need no stream. Stops after one field too many. */
export function fieldsOf(body: Buffer, contentType: string, { maxFormFields }: FieldLimits): FormField[] {
  const fields: FormField[] = [];
  const form = new FormReader(contentType).read();
  let head: PartHead | undefined;
  let unread: Buffer | undefined = body;
  for (let step = form.next(); step.done !== true && fields.length <= maxFormFields;) {
    const { value } = step;
    if (Buffer.isBuffer(value)) {
      if (head) fields[fields.length - 1] = fieldOf(head, value);
    } else if (value) fields.push(fieldOf((head = value), Buffer.of()));
    step = form.next(value ? undefined : unread);
    if (!value) unread = undefined;
  }
  return fields;
}

/** The content of a file does not matter, because it is refused by its name. */
function fieldOf({ name, fileName, charset }: PartHead, bytes: Buffer): FormField {
  return fileName === undefined
    ? { name, isFile: false, value: decode(bytes, charset) }
    : { name, isFile: true, value: '' };
}

/** The text of the field `data` of a parsed form. @throws TaskError if the form holds anything else. */
export function dataFieldOf({ body }: FastifyRequest, { maxFormFields }: FieldLimits): string {
  // A body of another kind was not parsed.
  const fields = (body ?? []) as readonly FormField[];
  if (fields.length > maxFormFields) throw tooManyFields(maxFormFields);
  return requireDataField(fields);
}

export async function readField(part: FormPart, maxBytes: number): Promise<FormField> {
  const { name, fileName, bytes } = part;
  const chunks: Buffer[] = [];
  let length = 0;
  if (fileName === undefined) {
    for await (const chunk of bytes) {
      length += chunk.length;
      if (length > maxBytes) throw name === 'data' ? tooMuchData(maxBytes) : fieldProblem('unknown', name);
      chunks.push(chunk);
    }
  }
  return fieldOf(part, Buffer.concat(chunks));
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
