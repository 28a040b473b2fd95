import type { DataConverter } from '@temporalio/common';
import { EncryptionCodec, parseEncryptionKeys, type EncryptionKeys } from './encryption-codec';

/** A module path, because the workflow sandbox loads the failure converter too. */
export const encodedFailuresPath = require.resolve('./failure-converter');

/**
 * Creates a data converter that encrypts the payloads stored by Temporal: arguments, results, memos, summaries, heartbeats and failure
 * messages. Every client and worker of a namespace needs it, with the same keys.
 *
 * @param keys parsed, or `id:base64` each, 32 bytes, separated by white space; the first encrypts, and all decrypt.
 * @throws EncryptionKeyError if there is no key, or an invalid one; the message never contains a key.
 */
export function createEncryptedDataConverter(keys: string | EncryptionKeys): DataConverter {
  return {
    payloadCodecs: [new EncryptionCodec(typeof keys === 'object' ? keys : parseEncryptionKeys(keys))],
    failureConverterPath: encodedFailuresPath,
  };
}

/** Reads unencrypted payloads; an encrypted one fails with an error that explains the cause. */
export function createPlainDataConverter(): DataConverter {
  return { payloadCodecs: [new EncryptionCodec(undefined)] };
}

/** Whether this converter makes payloads unreadable for the server. */
export function hidesPayloads({ payloadCodecs }: { payloadCodecs: readonly unknown[] }): boolean {
  return payloadCodecs.some((codec) => !(codec instanceof EncryptionCodec && !codec.encrypts));
}
