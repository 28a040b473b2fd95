import type * as Signing from 'standardwebhooks';
import type * as Undici from 'undici';
import { createPublicAgent, PrivateAddressError, type Resolve } from '../network/public-agent';
import { limitTime } from '../network/time-limit';
import type { Notice } from '../batch/model/notices';
import { noticeTypes, type NoticeType } from '../job/names';
import { systemErrorCode } from '../messages/system-error';
import { noticeText } from './notice-text';

/** Recipient and selection of notices, sent as [Standard Webhooks](https://www.standardwebhooks.com). */
export interface NotifySettings {
  /** Receives a POST for each event: `http` or `https`, no user name or password. Default: only batches with their own URL notify. */
  url?: string;
  /** Signs each request: `whsec_` and the base64 of 24 to 64 random bytes. Default: requests are not signed. */
  secret?: string;
  /** Default: all. */
  events?: readonly NoticeType[];
  /** Host names, addresses and networks (`10.0.0.0/8`) that may be notified although they are not public. Default: none. */
  allowedHosts?: readonly string[];
  resolve?: Resolve;
}

const answerWithinMs = 15_000;

/** The notice has probably not arrived; a retry may succeed. The message contains only the host of the URL. */
export class NoticeNotSentError extends Error {
  override readonly name = 'NoticeNotSentError';
}

/** The events for which a worker with these settings sends notices; undefined: none. */
export function eventsOf({ url, events = noticeTypes }: NotifySettings = {}): readonly NoticeType[] | undefined {
  return url === undefined ? undefined : events;
}

/**
 * Sends one request to the listener; any answer other than 2xx, also a redirect, counts as a failure.
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
    // Loaded for the first notice: most workers send none.
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

/** The timestamp is that of the attempt: a listener rejects a signature that is minutes old. */
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
