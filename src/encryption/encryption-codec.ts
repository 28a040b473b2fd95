import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Payload, PayloadCodec } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import type { EncryptionKeys } from './encryption-keys';

/** The names used in Temporal's own samples, which other tools recognize. */
const encodingName = 'binary/encrypted';
const metadataKeys = { encoding: 'encoding', keyId: 'encryption-key-id' } as const;

const cipherName = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;

/** A payload that this process can't decrypt. The message names a remedy in the settings; no stack trace is needed. */
export class DecryptionError extends Error {
  override readonly name = 'DecryptionError';
  readonly code = 'DECRYPTION_FAILED';

  constructor(
    readonly problem: string,
    readonly cure: string,
  ) {
    super(`${problem}; ${cure}.`);
    this.stack = `${this.name}: ${this.message}`;
  }
}

/**
 * Encrypts payloads with AES-256-GCM under the current key, and decrypts them with the key that encrypted them; passes
 * unencrypted ones through. Without keys it encrypts nothing, and explains why it can't decrypt.
 *
 * Data of an encrypted payload: nonce (12 random bytes), the encrypted protobuf of the whole original payload, tag (16
 * bytes). No additional data is authenticated, because a codec server receives payloads without their workflow.
 */
export class EncryptionCodec implements PayloadCodec {
  constructor(private readonly keys: EncryptionKeys | undefined) {}

  get encrypts(): boolean {
    return this.keys !== undefined;
  }

  encode(payloads: Payload[]): Promise<Payload[]> {
    const { keys } = this;
    return settle(() => (keys ? payloads.map((payload) => encrypt(payload, keys)) : payloads));
  }

  /** @throws DecryptionError */
  decode(payloads: Payload[]): Promise<Payload[]> {
    return settle(() => payloads.map((payload) => (isEncrypted(payload) ? decrypt(payload, this.keys) : payload)));
  }
}

function settle<T>(run: () => T): Promise<T> {
  return new Promise((resolve) => resolve(run()));
}

function isEncrypted({ metadata }: Payload): boolean {
  return textOf(metadata?.[metadataKeys.encoding]) === encodingName;
}

function encrypt(payload: Payload, { current }: EncryptionKeys): Payload {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv(cipherName, current.key, nonce);
  const plain = temporal.api.common.v1.Payload.encode(payload).finish();
  return {
    metadata: {
      [metadataKeys.encoding]: Buffer.from(encodingName),
      [metadataKeys.keyId]: Buffer.from(current.id),
    },
    data: Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]),
  };
}

function decrypt({ metadata, data }: Payload, keys: EncryptionKeys | undefined): Payload {
  const id = printableId(textOf(metadata?.[metadataKeys.keyId]));
  const key = keys?.byId.get(id);
  if (key === undefined) throw missingKey(id, keys);
  const bytes = data ?? new Uint8Array();
  if (bytes.length < nonceBytes + tagBytes) throw unreadable(id);
  const decipher = createDecipheriv(cipherName, key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes });
  decipher.setAuthTag(bytes.subarray(-tagBytes));
  let plain: Buffer;
  try {
    plain = Buffer.concat([decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()]);
  } catch {
    throw unreadable(id);
  }
  return temporal.api.common.v1.Payload.decode(plain);
}

function missingKey(id: string, keys: EncryptionKeys | undefined): DecryptionError {
  const problem = `This payload was encrypted with the key ${id}`;
  if (!keys) {
    const cure = 'set encryption.key_file or key_env to the keys of the other processes';
    return new DecryptionError(`${problem}, and encryption is off here`, cure);
  }
  return new DecryptionError(
    `${problem}, which is not among the keys here (${[...keys.byId.keys()].join(', ')})`,
    `add the line that begins with "${id}:" to the keys (encryption.key_file or key_env), after the current one`,
  );
}

function unreadable(id: string): DecryptionError {
  return new DecryptionError(
    `This payload was not encrypted with the key that is called ${id} here, or was changed since`,
    `compare the line "${id}:" of the keys (encryption.key_file or key_env) with that of the process that wrote it, and give a new key a new id`,
  );
}

/** Sanitized: anyone who may write to the server controls this text. */
function printableId(id: string): string {
  return id.replace(/[^A-Za-z0-9._-]/g, '?').slice(0, 64);
}

function textOf(bytes: Uint8Array | null | undefined): string {
  return bytes ? Buffer.from(bytes).toString('utf8') : '';
}
