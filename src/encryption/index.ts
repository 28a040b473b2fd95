/** Encryption of payloads: the data converter of clients and workers, and the parts for a codec server of your own. */
export { createEncryptedDataConverter, createPlainDataConverter } from './data-converter';
export { DecryptionError, EncryptionCodec, EncryptionKeyError, parseEncryptionKeys } from './encryption-codec';
export type { EncryptionKeys } from './encryption-codec';
export { readPayloads, writePayloads } from './payload-json';
export type { JsonPayloads } from './payload-json';
