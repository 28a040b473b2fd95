import type * as Signing from 'standardwebhooks';
import type * as Undici from 'undici';
import { createPublicAgent, PrivateAddressError, type Resolve } from '../network/public-agent';
import { limitTime } from '../network/time-limit';
import {
  isNoticeSecret,
  isNoticeUrl,
  noticeSecretProblem,
  noticeUrlProblem,
  type Notice,
} from '../batch/model/notices';
import { noticeTypes, type NoticeType } from '../job/names';
import { systemErrorCode } from '../messages/system-error';
import { noticeText } from './notice-text';

/** Who is told of what, in the form of [Standard Webhooks](https://www.standardwebhooks.com). */
export interface NotifySettings {
  /** Gets a POST for each event: `http` or `https`, without user name and password. Default: only batches that name one send word. */
  url?: string;
  /** Signs each request: `whsec_` and the base64 of 24 to 64 random bytes. Default: requests are not signed. */
  secret?: string;
  /** Default: all. */
  events?: readonly NoticeType[];
  /** Host names, addresses and networks (`10.0.0.0/8`) that may be told though they are not public. Default: none. */
  allowedHosts?: readonly string[];
  resolve?: Resolve;
}

/** How long a listener may take to answer. */
const answerWithinMs = 15_000;

/** The word did not arrive, as far as is known; another attempt may do better. The message holds no more of the URL than its host. */
export class NoticeNotSentError extends Error {
  override readonly name = 'NoticeNotSentError';
}

/** The events that a worker with these settings tells. Undefined: none. @throws TypeError for settings that can't work. */
export function eventsOf({ url, secret, events = noticeTypes }: NotifySettings = {}):
  readonly NoticeType[] | undefined {
  if (url !== undefined && !isNoticeUrl(url)) throw new TypeError(`notify.url ${noticeUrlProblem}.`);
  if (secret !== undefined && !isNoticeSecret(secret)) throw new TypeError(`notify.secret ${noticeSecretProblem}`);
  const unknown = events.find((event) => !noticeTypes.includes(event));
  if (unknown !== undefined)
    throw new TypeError(`notify.events names ${unknown}; there are: ${noticeTypes.join(', ')}.`);
  return url === undefined ? undefined : events;
}

/**
 * Tells the listener once; an answer other than 2xx, also a redirect, counts as not told.
 * @throws NoticeNotSentError
 */
export async function sendNotice(
  { id, type, at, data, url: ofBatch }: Notice,
  { url: ofWorker, secret, allowedHosts = [], resolve }: NotifySettings,
  signal: AbortSignal,
): Promise<void> {
  const written = ofBatch ?? ofWorker;
  if (written === undefined) {
    throw new NoticeNotSentError(
      'This worker has no listener to tell: set `url` in [notify], as the worker that wanted this to be told has it.',
    );
  }
  const url = new URL(written);
  const body = JSON.stringify({
    type,
    timestamp: new Date(at).toISOString(),
    text: noticeText({ type, data }),
    data,
  });
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'temporal-file-conversion',
    ...headersOf({ id, body, secret }),
  };
  const agent = createPublicAgent({ allowedHosts, section: 'notify', stallMs: answerWithinMs, resolve });
  const limit = limitTime(signal, answerWithinMs);
  try {
    await agent.assertPublic(url);
    // Loaded for the first word: most workers send none.
    const { request } = require('undici') as typeof Undici;
    const answer = await request(url, {
      method: 'POST',
      dispatcher: agent.dispatcher,
      headers,
      body,
      signal: limit.signal,
    });
    answer.body.on('error', () => undefined).destroy();
    if (answer.statusCode >= 200 && answer.statusCode < 300) return;
    throw new NoticeNotSentError(`The listener at ${url.host} answers ${answer.statusCode}.`);
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof NoticeNotSentError ? error : unreached(url, error);
  } finally {
    limit.end();
    await agent.dispatcher.destroy();
  }
}

/** The signature counts from the attempt: a listener refuses what is minutes old. */
function headersOf({ id, body, secret }: { id: string; body: string; secret: string | undefined }) {
  const now = new Date();
  const named = { 'webhook-id': id, 'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)) };
  if (secret === undefined) return named;
  const { Webhook } = require('standardwebhooks') as typeof Signing;
  return { ...named, 'webhook-signature': new Webhook(secret).sign(id, now, body) };
}

function unreached(url: URL, error: unknown): Error {
  const { message } = error instanceof Error ? error : { message: '' };
  const reason = error instanceof PrivateAddressError ? message : (systemErrorCode(error) ?? message);
  return new NoticeNotSentError(`The listener at ${url.host} can't be told: ${reason.replace(/\.?$/, '.')}`);
}
