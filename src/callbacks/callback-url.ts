import { createSecretKey, randomBytes, createHmac, timingSafeEqual, type KeyObject } from 'node:crypto';
import path from 'node:path';
import { makeFolder } from '../storage/folders';
import type { CallbackSubmission } from '../job/types';
import { readOrCreateFile } from '../storage/replace-file';

/** Separates these signatures from any other use of the key. */
const purpose = 'temporal-file-conversion callback 1\n';

/**
 * Callback URL of a submit: `<base>/<base64url(workflow id)>.<nonce>.<HMAC-SHA256>`. It only permits waking the job, and is sent to the
 * service alone: no payload, log or error contains it.
 */
export function createCallbackUrl(publicBaseUrl: string, submission: CallbackSubmission, key: KeyObject): string {
  const signed = `${Buffer.from(submission.workflowId).toString('base64url')}.${submission.nonce}`;
  return `${new URL(publicBaseUrl).href.replace(/\/+$/, '')}/${signed}.${sign(signed, key).toString('base64url')}`;
}

/** The submit named by the last segment of a callback URL; undefined without a valid signature. */
export function readCallbackToken(token: string, keys: CallbackKeys): CallbackSubmission | undefined {
  const [id, nonce, signature, ...others] = token.split('.');
  if (!id || !nonce || !signature || others.length > 0) return undefined;
  const given = Buffer.from(signature, 'base64url');
  // Decoding is lenient, so only the canonical spelling is accepted.
  if (given.toString('base64url') !== signature) return undefined;
  const isOurs = [keys.current, keys.previous].some((key) => key && isEqual(given, sign(`${id}.${nonce}`, key)));
  return isOurs ? { workflowId: Buffer.from(id, 'base64url').toString(), nonce } : undefined;
}

/** For services and receivers: `http` or `https`, without a password, query or fragment. */
export function isBaseUrl(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url?.username === '' && url.password === '' && url.search === '' && url.hash === '';
  return isPlain && /^https?:$/.test(url.protocol);
}

function sign(text: string, key: KeyObject): Buffer {
  return createHmac('sha256', key).update(purpose).update(text).digest();
}

function isEqual(given: Buffer, expected: Buffer): boolean {
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** Keys that sign callback URLs. A `KeyObject` reveals nothing when printed, logged or serialized. */
export interface CallbackKeys {
  /** Signs new URLs. */
  current: KeyObject;
  /** Signed URLs before the last rotation, which are still valid. */
  previous?: KeyObject;
}

/** A text without a valid callback key; the message never contains the text. */
export class CallbackKeyError extends Error {
  override readonly name = 'CallbackKeyError';
}

const minKeyLength = 32;

/** @throws CallbackKeyError if the text is too short. */
function createCallbackKey(text: string): KeyObject {
  if (text.length < minKeyLength) {
    throw new CallbackKeyError(`a callback key has at least ${minKeyLength} characters, not ${text.length}`);
  }
  return createSecretKey(Buffer.from(text));
}

/**
 * Parses the current key and, after white space, an optional previous one. To rotate: put a new key before the old one, restart
 * receiver and workers, and remove the old one once no older job is running.
 *
 * @throws CallbackKeyError if there is no key, or more than two.
 */
export function parseCallbackKeys(text: string | undefined): CallbackKeys {
  const [current, previous, ...others] = (text ?? '').split(/\s+/).filter(Boolean);
  if (current === undefined) throw new CallbackKeyError('it is empty');
  if (others.length > 0) throw new CallbackKeyError('it holds more than the current key and the previous one');
  return {
    current: createCallbackKey(current),
    ...(previous !== undefined && { previous: createCallbackKey(previous) }),
  };
}

/** Reads the key file, or creates it readable by its owner only. If several processes start at once, the first creates it. */
export async function ensureCallbackKeyFile(file: string): Promise<string> {
  await makeFolder(path.dirname(file));
  return readOrCreateFile(file, () => `${randomBytes(32).toString('base64url')}\n`);
}
