import type { FastifyRequest } from 'fastify';
import { z } from 'zod';

/** Reading the form of a request, whichever way it is encoded. */

const urlencodedSchema = z.object({ data: z.unknown() }).partial();

/** The field `data` of a request without a file. Files that come with it are passed over. */
export async function readDataField(request: FastifyRequest): Promise<unknown> {
  if (!request.isMultipart()) {
    const body = urlencodedSchema.safeParse(request.body);
    return body.success ? body.data.data : undefined;
  }
  let data: unknown;
  for await (const part of request.parts()) {
    if (part.type === 'file') part.file.resume();
    else if (part.fieldname === 'data') data = fieldText(part);
  }
  return data;
}

/** The text of a form field. A part that calls itself JSON comes parsed from the form reader. */
export function fieldText({ value, valueTruncated }: { value: unknown; valueTruncated: boolean }): string {
  // A truncated field cannot be valid: what is left of it must not be taken for all of it.
  if (valueTruncated) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
