import { createCipheriv, createDecipheriv, createSecretKey, randomBytes, type KeyObject } from 'node:crypto';
import type { Payload, PayloadCodec } from '@temporalio/common';
import { temporal } from '@temporalio/proto';

/** The names used by Temporal's own samples, which other tools recognize. */
const encodingName = 'binary/encrypted';
const metadataKeys = { encoding: 'encoding', keyId: 'encryption-key-id' } as const;

const cipherName = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;

/** A payload that this process can't decrypt. The message names a remedy in the settings, so the stack trace is left out. */
export class DecryptionError extends Error {
  override readonly name = 'DecryptionError';
  readonly code = 'DECRYPTION_FAILED';

  constructor(
    readonly problem: string,
    readonly fix: string,
  ) {
    super(`${problem}; ${fix}.`);
    this.stack = `${this.name}: ${this.message}`;
  }
}

/**
 * Encrypts payloads with AES-256-GCM under the current key, and decrypts them with the key that encrypted them; passes unencrypted ones
 * through. Without keys it encrypts nothing, and explains why it can't decrypt.
 *
 * Data of an encrypted payload: nonce (12 random bytes), the encrypted protobuf of the whole original payload, tag (16 bytes). No
 * additional data is authenticated, because a codec server receives payloads without their workflow.
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
    const fix = 'set encryption.key_file or key_env to the keys of the other processes';
    return new DecryptionError(`${problem}, and encryption is off here`, fix);
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

/** Sanitized, because anyone who may write to the server controls this text. */
function printableId(id: string): string {
  return id.replace(/[^A-Za-z0-9._-]/g, '?').slice(0, 64);
}

function textOf(bytes: Uint8Array | null | undefined): string {
  return bytes ? Buffer.from(bytes).toString('utf8') : '';
}

/** Keys that encrypt payloads. A `KeyObject` reveals nothing when printed, logged or serialized. */
export interface EncryptionKeys {
  /** Encrypts new payloads. */
  current: { id: string; key: KeyObject };
  /** All keys that decrypt, by id, including the current one. */
  byId: ReadonlyMap<string, KeyObject>;
}

/** A text without valid keys; the message never contains the text. */
export class EncryptionKeyError extends Error {
  override readonly name = 'EncryptionKeyError';
}

const keyBytes = 32;
/** Ids are stored unencrypted with every payload. */
const idPattern = /^[A-Za-z0-9._-]{1,64}$/;

/**
 * Parses keys: `id:base64` each, separated by white space, the current one first. To rotate: put a new key before the others, restart
 * every process, and keep the old keys as long as a history written with them exists.
 *
 * @throws EncryptionKeyError if there is no key, or an invalid one.
 */
export function parseEncryptionKeys(text: string | undefined): EncryptionKeys {
  const byId = new Map<string, KeyObject>();
  for (const [index, entry] of (text ?? '').split(/\s+/).filter(Boolean).entries()) {
    const [id, key] = parseKey(entry, `key ${index + 1}`);
    if (byId.has(id)) throw new EncryptionKeyError(`two keys have the id ${id}; a new key needs a new id`);
    byId.set(id, key);
  }
  const [first] = byId;
  if (first === undefined) throw new EncryptionKeyError('it is empty');
  const [id, key] = first;
  return { current: { id, key }, byId };
}

function parseKey(entry: string, name: string): [string, KeyObject] {
  const colon = entry.indexOf(':');
  const id = entry.slice(0, Math.max(colon, 0));
  // Without a colon, the whole entry may be a key, so the message does not repeat it.
  if (!idPattern.test(id)) {
    throw new EncryptionKeyError(
      `${name} does not begin with an id and a colon, such as 2026-11: (letters, digits, ".", "_" and "-")`,
    );
  }
  const encoded = entry.slice(colon + 1);
  const bytes = Buffer.from(encoded, 'base64');
  // Buffer.from skips characters that are not base64.
  const isBase64 = /^[A-Za-z0-9+/_-]+={0,2}$/.test(encoded);
  if (!isBase64 || bytes.length !== keyBytes) {
    throw new EncryptionKeyError(`key ${id} is not ${keyBytes} bytes in base64; make one: openssl rand -base64 32`);
  }
  return [id, createSecretKey(bytes)];
}
