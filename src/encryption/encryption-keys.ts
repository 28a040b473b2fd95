import { createSecretKey, type KeyObject } from 'node:crypto';

/** Keys that encrypt payloads. A `KeyObject` reveals nothing when printed, logged or serialized. */
export interface EncryptionKeys {
  /** Encrypts new payloads. */
  current: { id: string; key: KeyObject };
  /** All keys that decrypt, by id, including the current one. */
  byId: ReadonlyMap<string, KeyObject>;
}

/** A text without valid keys; the message never contains it. */
export class EncryptionKeyError extends Error {
  override readonly name = 'EncryptionKeyError';
}

const keyBytes = 32;
/** Ids are stored unencrypted with every payload. */
const idPattern = /^[A-Za-z0-9._-]{1,64}$/;

/**
 * Parses keys: `id:base64` each, separated by white space, the current one first. To rotate: put a new key before the
 * others, restart every process, and keep the old keys as long as a history written with them exists.
 *
 * @throws EncryptionKeyError when there is no key, or an invalid one.
 */
export function parseEncryptionKeys(text: string): EncryptionKeys {
  const byId = new Map<string, KeyObject>();
  for (const [index, entry] of text.split(/\s+/).filter(Boolean).entries()) {
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
  // Without a colon, the whole entry may be a key: the message repeats none of it.
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
