import type { KeyObject } from 'node:crypto';
import { createSecretKey, randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { readIfExists, readOrCreateFile } from '../storage/replace-file';

/** Keys that sign callback URLs. A `KeyObject` reveals nothing when printed, logged or serialized. */
export interface CallbackKeys {
  /** Signs new URLs. */
  current: KeyObject;
  /** Signed URLs before the last rotation, which are still valid. */
  previous?: KeyObject;
}

/** A text without a valid callback key; the message never contains it. */
export class CallbackKeyError extends Error {
  override readonly name = 'CallbackKeyError';
}

const minKeyLength = 32;

/** @throws CallbackKeyError when the text is too short. */
function createCallbackKey(text: string): KeyObject {
  if (text.length < minKeyLength) {
    throw new CallbackKeyError(`a callback key has at least ${minKeyLength} characters, not ${text.length}`);
  }
  return createSecretKey(Buffer.from(text));
}

/**
 * Parses the current key and, after white space, an optional previous one. To rotate: put a new key before the old one,
 * restart receiver and workers, and remove the old one once no older job is running.
 *
 * @throws CallbackKeyError when there is no key, or more than two.
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

/** The content of the key file. The first of several processes creates it, readable by its owner only. */
export async function ensureCallbackKeyFile(file: string): Promise<string> {
  const existing = await readIfExists(file);
  if (existing !== undefined) return existing;
  await mkdir(path.dirname(file), { recursive: true });
  return readOrCreateFile(file, () => `${randomBytes(32).toString('base64url')}\n`);
}
