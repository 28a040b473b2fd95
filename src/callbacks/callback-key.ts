import type { KeyObject } from 'node:crypto';
import { createSecretKey, randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { readIfExists, readOrCreateFile } from '../storage/replace-file';

/** What callback URLs are signed with. A `KeyObject` shows nothing of itself when it is printed, logged or serialised. */
export interface CallbackKeys {
  /** Signs new URLs. */
  current: KeyObject;
  /** Signed the URLs of submits before the last rotation, which are still valid. */
  previous?: KeyObject;
}

/** A text from which no callback key can be made; the message never holds it. */
export class CallbackKeyError extends Error {
  override readonly name = 'CallbackKeyError';
}

const minKeyLength = 32;

/** @throws CallbackKeyError when it is too short. */
function createCallbackKey(text: string): KeyObject {
  if (text.length < minKeyLength) {
    throw new CallbackKeyError(`a callback key has at least ${minKeyLength} characters, not ${text.length}`);
  }
  return createSecretKey(Buffer.from(text));
}

/**
 * The keys in a text: the current one and, after white space, the previous one, if there is one. To rotate: put a new key before the
 * old one, start receiver and workers anew, and take the old one away when no older job runs any more.
 *
 * @throws CallbackKeyError when there is none, or more than two.
 */
export function parseCallbackKeys(text: string): CallbackKeys {
  const [current, previous, ...others] = text.split(/\s+/).filter(Boolean);
  if (current === undefined) throw new CallbackKeyError('it is empty');
  if (others.length > 0) throw new CallbackKeyError('it holds more than the current key and the previous one');
  return {
    current: createCallbackKey(current),
    ...(previous !== undefined && { previous: createCallbackKey(previous) }),
  };
}

/** The content of the key file; the first of several processes to come makes it, readable by its owner only. */
export async function ensureCallbackKeyFile(file: string): Promise<string> {
  const existing = await readIfExists(file);
  if (existing !== undefined) return existing;
  await mkdir(path.dirname(file), { recursive: true });
  return readOrCreateFile(file, () => `${randomBytes(32).toString('base64url')}\n`);
}
