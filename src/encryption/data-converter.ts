import type { DataConverter } from '@temporalio/common';
import { EncryptionCodec } from './encryption-codec';
import type { EncryptionKeys } from './encryption-keys';
import { parseEncryptionKeys } from './encryption-keys';

/** Of the module that workflows, too, turn failures into payloads with. */
export const encodedFailuresPath = require.resolve('./failure-converter');

/**
 * The data converter of clients and workers whose payloads Temporal must not be able to read: arguments, results, memos, summaries, heartbeats and
 * the messages of failures. Every client and every worker of a namespace needs it, with the same keys.
 *
 * @param keys `id:base64` each, 32 bytes, separated by white space, the current one first; previous ones go on to decrypt. Or as they were parsed.
 * @throws EncryptionKeyError when there is none, or one of them can't be used; the message never holds a key.
 */
export function createEncryptedDataConverter(keys: string | EncryptionKeys): DataConverter {
  return {
    payloadCodecs: [new EncryptionCodec(typeof keys === 'string' ? parseEncryptionKeys(keys) : keys)],
    failureConverterPath: encodedFailuresPath,
  };
}

/** Reads what is not encrypted, and says of what is why it can't be read. */
export function createPlainDataConverter(): DataConverter {
  return { payloadCodecs: [new EncryptionCodec(undefined)] };
}

/** Whether what a client with this converter stores tells the server nothing. */
export function hidesPayloads({ payloadCodecs }: { payloadCodecs: readonly unknown[] }): boolean {
  return payloadCodecs.some((codec) => !(codec instanceof EncryptionCodec && !codec.encrypts));
}
