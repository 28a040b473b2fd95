import { Readable } from 'node:stream';
import { endpoints } from '../contract/endpoints';
import type { DownloadTarget } from './address';
import { findRefusal, parseJson } from './answer';
import type { ServiceConnection } from './connection';
import type { DownloadStream, DownloadTicket, RequestTurn } from './conversion-api';
import { ConversionApiError } from './errors';
import type { ExchangeAnswer } from './exchange';
import { frameData } from './multipart';

interface RequestOptions {
  readonly signal?: AbortSignal | undefined;
  readonly turn?: RequestTurn | undefined;
}

const endpoint = endpoints.downloadUrlGet;
const maxRedirects = 5;

/** An error object is far smaller; a longer JSON body is the converted file. */
const maxErrorBytes = 64 * 1024;

/** Opens the byte stream of a converted file. Only the service is sent the token; redirects are followed without it. */
export async function openDownload(
  connection: ServiceConnection,
  ticket: DownloadTicket,
  options: RequestOptions,
): Promise<DownloadStream> {
  let target = resolve(connection, ticket.url);
  let answer = await request(connection, ticket, target, options);
  for (let redirects = 0; isRedirect(answer) && redirects < maxRedirects; redirects += 1) {
    answer.body.destroy();
    const { location = '' } = answer.headers;
    if (!URL.canParse(location, target.url.href)) throw notFollowed();
    target = { ...resolve(connection, new URL(location, target.url).href), own: false };
    answer = await request(connection, ticket, target, options);
  }
  return readDownload(connection, answer, target);
}

function resolve(connection: ServiceConnection, link: string | undefined): DownloadTarget {
  if (link === undefined || link === '') return { url: connection.address.endpointUrl(endpoint), own: true };
  const target = connection.address.resolveLink(link);
  if (target) return target;
  throw notFollowed();
}

function notFollowed(): ConversionApiError {
  return new ConversionApiError({
    code: 'UNREADABLE_RESPONSE',
    message: `${endpoint}: the download link, or where it redirects to, is not an http(s) URL, or leaves TLS`,
    endpoint,
    mayHaveExecuted: false,
  });
}

function request(
  connection: ServiceConnection,
  ticket: DownloadTicket,
  { url, own }: DownloadTarget,
  options: RequestOptions,
): Promise<ExchangeAnswer> {
  if (!own) return connection.getAnonymously(endpoint, url, options.signal);
  const frame = frameData({ app: connection.appId, connector: ticket.connector });
  return connection.post({ endpoint, url, ...frame, ...options });
}

function isRedirect({ httpStatus, headers }: ExchangeAnswer): boolean {
  return [301, 302, 303, 307, 308].includes(httpStatus) && headers.location !== undefined;
}

async function readDownload(
  connection: ServiceConnection,
  answer: ExchangeAnswer,
  { url, own }: DownloadTarget,
): Promise<DownloadStream> {
  const { httpStatus, headers, body } = answer;
  if (httpStatus !== 200) {
    const text = await connection.readText(endpoint, answer);
    throw own ? refusal(connection, answer, text) : foreignRefusal(httpStatus, url);
  }
  if (!isPlain(headers['content-encoding'])) {
    body.destroy();
    throw new ConversionApiError({
      code: 'UNREADABLE_RESPONSE',
      message: `${endpoint}: the file came with a content encoding that was not asked for`,
      endpoint,
      httpStatus,
      mayHaveExecuted: true,
    });
  }
  body.once('close', () => connection.observer?.transferred({ direction: 'down', bytes: answer.receivedBytes() }));
  const length = headers['content-length'] === undefined ? {} : { contentLength: Number(headers['content-length']) };
  if (!isJson(headers['content-type'])) return { body, ...length };

  const start = await peek(body);
  if (start.whole) {
    const error = findRefusal(
      { ...answer, endpoint, text: '' },
      parseJson(start.bytes.toString('utf8')),
      connection.quote,
    );
    if (error) throw error;
  }
  return { body: rejoin(start, body), ...length };
}

/** HTTP 200 is the only status that carries the file; elsewhere a 204 or 206 would count as a success. */
function refusal(connection: ServiceConnection, answer: ExchangeAnswer, text: string): ConversionApiError {
  const raw = { ...answer, endpoint, text };
  return findRefusal(raw, parseJson(text), connection.quote) ?? unexpectedStatus(answer.httpStatus);
}

function unexpectedStatus(httpStatus: number): ConversionApiError {
  return new ConversionApiError({
    code: 'UNREADABLE_RESPONSE',
    message: `${endpoint}: HTTP ${httpStatus} in place of the file`,
    endpoint,
    httpStatus,
    mayHaveExecuted: true,
  });
}

/** A storage host's error page may repeat the signed link, so it is not quoted. */
function foreignRefusal(httpStatus: number, url: URL): ConversionApiError {
  return new ConversionApiError({
    code: `HTTP_${httpStatus}`,
    message: `${endpoint}: ${url.origin}, where the service keeps the file, answered HTTP ${httpStatus}`,
    endpoint,
    httpStatus,
    mayHaveExecuted: httpStatus !== 429,
  });
}

function isPlain(contentEncoding: string | undefined): boolean {
  return contentEncoding === undefined || contentEncoding === '' || contentEncoding === 'identity';
}

function isJson(contentType: string | undefined): boolean {
  return /^application\/([\w.-]+\+)?json\s*(;|$)/i.test(contentType ?? '');
}

interface Peeked {
  readonly bytes: Buffer;
  readonly whole: boolean;
  readonly rest: AsyncIterator<Buffer>;
}

async function peek(body: Readable): Promise<Peeked> {
  const rest = (body as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  const chunks: Buffer[] = [];
  let length = 0;
  while (length <= maxErrorBytes) {
    const next = await rest.next();
    if (next.done) return { bytes: Buffer.concat(chunks), whole: true, rest };
    chunks.push(next.value);
    length += next.value.length;
  }
  return { bytes: Buffer.concat(chunks), whole: false, rest };
}

function rejoin({ bytes, whole, rest }: Peeked, body: Readable): Readable {
  async function* all(): AsyncGenerator<Buffer> {
    if (bytes.length > 0) yield bytes;
    if (whole) return;
    for (;;) {
      const next = await rest.next();
      if (next.done) return;
      yield next.value;
    }
  }
  const joined = Readable.from(all(), { objectMode: false });
  joined.on('error', () => undefined);
  // Even if nothing was read: the connection must not stay open.
  joined.once('close', () => body.destroy());
  return joined;
}
