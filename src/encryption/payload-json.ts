import type { Payload } from '@temporalio/common';
import { temporal } from '@temporalio/proto';

const { Payloads } = temporal.api.common.v1;

/** Parses payloads from protobuf JSON, with bytes in base64. Undefined if the body is invalid. */
export function readPayloads(body: unknown): Payload[] | undefined {
  if (typeof body !== 'object' || body === null || !('payloads' in body)) return undefined;
  try {
    return Payloads.fromObject(body).payloads;
  } catch {
    return undefined;
  }
}

/** The reverse of `readPayloads`. */
export function writePayloads(payloads: readonly Payload[]): JsonPayloads {
  return Payloads.toObject(Payloads.fromObject({ payloads }), { bytes: String, arrays: true }) as JsonPayloads;
}

export interface JsonPayloads {
  payloads: { metadata: Record<string, string>; data?: string }[];
}
