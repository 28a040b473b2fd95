import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ServiceLimits } from '../shared/limits';
import { fieldProblem, tooManyFields, tooMuchData } from '../tasks/request-data';
import { type FormPart, readParts } from './multipart';

/** Forms without a file are small and read whole. */

export interface FormField {
  readonly name: string;
  readonly isFile: boolean;
  readonly value: string;
}

export const multipart = 'multipart/form-data';

/** Each makes fields of a form; its size is limited as that of every body. */
export function addFormParsers(server: FastifyInstance): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) => {
    done(
      null,
      [...new URLSearchParams(String(body))].map(([name, value]) => ({ name, isFile: false, value })),
    );
  });
  server.addContentTypeParser(multipart, { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
    const fields: FormField[] = [];
    for await (const part of readParts([body], request.headers['content-type'] ?? '')) {
      fields.push(await readField(part, body.length));
    }
    return fields;
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

/** A part that is a field: the content of a file does not matter here, it is refused by its name. */
export async function readField({ name, fileName, text }: FormPart, maxBytes: number): Promise<FormField> {
  if (fileName !== undefined) return { name, isFile: true, value: '' };
  const value = await text(maxBytes);
  if (value === undefined) throw name === 'data' ? tooMuchData(maxBytes) : fieldProblem('unknown', name);
  return { name, isFile: false, value };
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
