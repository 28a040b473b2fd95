import type { KeyObject } from 'node:crypto';
import { createSecretKey } from 'node:crypto';

/** What payloads are encrypted with. A `KeyObject` shows nothing of itself when it is printed, logged or serialised. */
export interface EncryptionKeys {
  /** Encrypts from now on. */
  current: { id: string; key: KeyObject };
  /** Every key that decrypts, by its id; the current one is among them. */
  byId: ReadonlyMap<string, KeyObject>;
}

/** A text from which no keys can be made; the message never holds it. */
export class EncryptionKeyError extends Error {
  override readonly name = 'EncryptionKeyError';
}

const keyBytes = 32;
/** Ids stand in plain text beside every payload. */
const idPattern = /^[A-Za-z0-9._-]{1,64}$/;

/**
 * The keys in a text: `id:base64` each, separated by white space, the current one first. To rotate: put a new key before the others, start every
 * process anew, and keep the old ones for as long as there is a history that was written with them.
 *
 * @throws EncryptionKeyError when there is none, or one of them can't be used.
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
  // Without a colon the whole entry may be a key: nothing of it is repeated.
  if (!idPattern.test(id)) {
    throw new EncryptionKeyError(
      `${name} does not begin with an id and a colon, such as 2026-11: (letters, digits, ".", "_" and "-")`,
    );
  }
  const encoded = entry.slice(colon + 1);
  const bytes = Buffer.from(encoded, 'base64');
  // Buffer.from skips what is no base64.
  const isBase64 = /^[A-Za-z0-9+/_-]+={0,2}$/.test(encoded);
  if (!isBase64 || bytes.length !== keyBytes) {
    throw new EncryptionKeyError(`key ${id} is not ${keyBytes} bytes in base64; make one: openssl rand -base64 32`);
  }
  return [id, createSecretKey(bytes)];
}
