import { type KeyObject, createHmac, timingSafeEqual } from 'node:crypto';
import type { CallbackSubmission } from '../shared/job';
import type { CallbackKeys } from './callback-key';

/** Separates these signatures from any other use of the key. */
const purpose = 'temporal-file-conversion callback 1\n';

/**
 * Callback URL of a submit: `<base>/<base64url(workflow id)>.<nonce>.<HMAC-SHA256>`. It only permits waking the job,
 * and is given to the service alone: no payload, log or error contains it.
 */
export function createCallbackUrl(publicBaseUrl: string, submission: CallbackSubmission, key: KeyObject): string {
  const signed = `${Buffer.from(submission.workflowId).toString('base64url')}.${submission.nonce}`;
  return `${publicBaseUrl}/${signed}.${sign(signed, key).toString('base64url')}`;
}

/** The submit named by the last segment of a callback URL; undefined without a valid signature. */
export function readCallbackToken(token: string, keys: CallbackKeys): CallbackSubmission | undefined {
  const [id, nonce, signature, ...others] = token.split('.');
  if (!id || !nonce || !signature || others.length > 0) return undefined;
  const given = Buffer.from(signature, 'base64url');
  // Decoding is lenient; only the canonical spelling is accepted.
  if (given.toString('base64url') !== signature) return undefined;
  const isOurs = [keys.current, keys.previous].some((key) => key && isEqual(given, sign(`${id}.${nonce}`, key)));
  return isOurs ? { workflowId: Buffer.from(id, 'base64url').toString(), nonce } : undefined;
}

/**
 * The URL without trailing slashes.
 * @throws TypeError that refers to it by `name`.
 */
export function checkBaseUrl(baseUrl: string, name: string): string {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  const isPlain = url?.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (!url || !/^https?:$/.test(url.protocol) || !isPlain) {
    throw new TypeError(`${name} must be an http or https URL without a password, "?" and "#".`);
  }
  return url.href.replace(/\/+$/, '');
}

function sign(text: string, key: KeyObject): Buffer {
  return createHmac('sha256', key).update(purpose).update(text).digest();
}

function isEqual(given: Buffer, expected: Buffer): boolean {
  return given.length === expected.length && timingSafeEqual(given, expected);
}
