import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { TaskError } from './task-error';

/** Forms without a file: small, so that they are read whole. Uploads are streamed in `upload-route.ts`. */

const formSchema = z.object({ data: z.unknown() }).partial();

/** The field `data` of a form that a content type parser has read; undefined when it has none. */
export function dataFieldOf(request: FastifyRequest): unknown {
  return formSchema.safeParse(request.body).data?.data;
}

/**
 * Reads a multipart form (RFC 7578) that is in memory. Files in it are passed over. Polling is most of what a service is
 * asked, and this takes a tenth of the time of a streaming reader.
 */
export function readMultipartForm(body: Buffer, contentType: string): { data?: string | string[] } {
  const boundary = boundaryOf(contentType);
  const delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1');
  // The first delimiter has no line before it.
  const text = Buffer.concat([Buffer.from('\r\n'), body]);
  const values: string[] = [];
  let start = text.indexOf(delimiter);
  for (;;) {
    if (start === -1) throw new TaskError('INVALID_FIELD', { subject: 'data' });
    start += delimiter.length;
    if (text.toString('latin1', start, start + 2) === '--') break;
    const end = text.indexOf(delimiter, start);
    if (end === -1) throw new TaskError('INVALID_FIELD', { subject: 'data' });
    const value = readPart(text.subarray(start, end));
    if (value !== undefined) values.push(value);
    start = end;
  }
  const [first] = values;
  if (first === undefined) return {};
  return { data: values.length === 1 ? first : values };
}

function boundaryOf(contentType: string): string {
  const match = /;\s*boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(contentType);
  const boundary = match?.[1] ?? match?.[2];
  if (boundary === undefined) throw new TaskError('INVALID_FIELD', { subject: 'data' });
  return boundary;
}

/** The value of a part that is the field `data`. */
function readPart(part: Buffer): string | undefined {
  const headerEnd = part.indexOf('\r\n\r\n');
  if (headerEnd === -1) return undefined;
  const headers = part.toString('utf8', 0, headerEnd);
  const disposition = /\r\ncontent-disposition:(.*)/i.exec(headers)?.[1] ?? '';
  const name = /;\s*name=(?:"([^"]*)"|([^;\s]+))/i.exec(disposition);
  const isFile = /;\s*filename\*?=/i.test(disposition);
  return !isFile && (name?.[1] ?? name?.[2]) === 'data' ? part.toString('utf8', headerEnd + 4) : undefined;
}
