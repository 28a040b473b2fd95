import type { Payload } from '@temporalio/common';
import { z } from 'zod';

const base64 = z.string().regex(/^[A-Za-z0-9+/_-]*={0,2}$/, 'must be base64');

const payloadsSchema = z.object({
  payloads: z.array(z.object({ metadata: z.record(z.string(), base64).optional(), data: base64.nullish() })),
});

/** Parses payloads from protobuf JSON, with bytes in base64. Undefined when the body is not valid. */
export function readPayloads(body: unknown): Payload[] | undefined {
  const parsed = payloadsSchema.safeParse(body);
  return parsed.data?.payloads.map(({ metadata, data }) => ({
    ...(metadata && { metadata: mapValues(metadata, (text) => Buffer.from(text, 'base64')) }),
    ...(typeof data === 'string' && { data: Buffer.from(data, 'base64') }),
  }));
}

/** The reverse of `readPayloads`. */
export function writePayloads(payloads: readonly Payload[]) {
  return {
    payloads: payloads.map(({ metadata, data }) => ({
      metadata: mapValues(metadata ?? {}, toBase64),
      ...(data && { data: toBase64(data) }),
    })),
  };
}

function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}

function mapValues<T, U>(record: Readonly<Record<string, T>>, map: (value: T) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}
