import { Readable } from 'node:stream';
import { endpoints } from '../contract/endpoints';
import { lookUpErrorCode } from '../contract/error-codes';
import { peek } from '../storage/peek';
import type { DownloadTarget } from './address';
import { findRefusal, isTaskAnswer, orderedWait } from './answer';
import type { ServiceConnection } from './connection';
import type { DownloadStream, DownloadTicket, RequestOptions, ResultOptions } from './conversion-api';
import { ConversionApiError, unreadableAnswer } from './errors';
import type { ExchangeAnswer } from './exchange';
import { frameData } from './multipart';
import { isObject, parseJson } from '../contract/json';
import { checkedBytes, checkedEnd, isPlainText, problemOfEnd, problemOfResult } from './result-check';

const endpoint = endpoints.downloadUrlGet;
const maxRedirects = 5;

/** Reads ahead as much as is stored at once; passing on chunks one by one would take half as long again. */
const aheadBytes = 512 * 1024;

/** An error object is far smaller; a longer JSON body is the converted file. */
const maxErrorBytes = 64 * 1024;

/** Opens the byte stream of a converted file. Only the service gets the token; redirects are followed without it. */
export async function openDownload(
  connection: ServiceConnection,
  { ticket, output, ...options }: ResultOptions,
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
  return readDownload(connection, answer, { ...target, size: ticket.size, output });
}

function resolve(connection: ServiceConnection, link: string | undefined): DownloadTarget {
  if (link === undefined || link === '') return { url: connection.address.endpointUrl(endpoint), own: true };
  const target = connection.address.resolveLink(link);
  if (target) return target;
  throw notFollowed();
}

function notFollowed(): ConversionApiError {
  const problem =
    "the download link, or where it redirects to, is not an http(s) URL, leaves TLS, or names an address of a cloud's metadata";
  return unreadableAnswer(endpoint, problem, { mayHaveExecuted: false });
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
  { url, own, size, output }: DownloadTarget & { size: number | undefined; output: string | undefined },
): Promise<DownloadStream> {
  const { httpStatus, headers, body } = answer;
  // HTTP 200 is the only status that carries the file; elsewhere a 204 or 206 would count as a success.
  if (httpStatus !== 200) {
    const text = await connection.readText(endpoint, answer);
    if (!own) throw foreignRefusal(answer, url);
    const error = findRefusal({ ...answer, endpoint, text }, parseJson(text), connection.quote);
    throw error ?? unreadableAnswer(endpoint, `HTTP ${httpStatus} in place of the file`, { httpStatus });
  }
  if (!['', 'identity'].includes(headers['content-encoding']?.toLowerCase() ?? '')) {
    body.destroy();
    throw unreadableAnswer(endpoint, 'the file came with a content encoding that was not asked for', { httpStatus });
  }
  body.once('close', () => connection.observer?.transferred({ direction: 'down', bytes: answer.receivedBytes() }));
  const contentType = headers['content-type'];
  const length = headers['content-length'] === undefined ? {} : { contentLength: Number(headers['content-length']) };
  if (size === undefined && headers['content-length'] === undefined && !isChunked(headers['transfer-encoding'])) {
    body.destroy();
    throw unreadableAnswer(endpoint, 'the file came without a length, so it is not known whether it is whole');
  }
  const refusalIn = (bytes: Buffer): ConversionApiError | undefined => {
    const json = parseJson(bytes.toString('utf8'));
    const error = findRefusal({ ...answer, endpoint, text: '' }, json, connection.quote);
    // A JSON result may have such keys of its own, and a sender may not know the type of a result.
    const isOwn = !isJson(contentType) || (output?.startsWith('json') === true && !lookUpErrorCode(error?.code ?? ''));
    if (error) return isOwn && !isTaskAnswer(json) ? undefined : error;
    if (size !== undefined || !isJson(contentType) || !isPlainText(output) || !isObject(json)) return undefined;
    return unreadableAnswer(endpoint, `JSON came in place of the ${output} file (${url.origin})`, { httpStatus });
  };
  const expected = { contentType, output, isSized: size !== undefined, size, origin: url.origin, refusalIn };
  const stream = Readable.from(checkWhole(body, expected), { objectMode: false, highWaterMark: aheadBytes });
  stream.on('error', () => undefined);
  // Even if nothing was read: the connection must not stay open.
  stream.once('close', () => body.destroy());
  return { body: stream, ...length };
}

interface Expected {
  contentType: string | undefined;
  output: string | undefined;
  /** The service has stated the size. */
  isSized: boolean;
  size: number | undefined;
  origin: string;
  refusalIn: (bytes: Buffer) => ConversionApiError | undefined;
}

/** Fails before the first byte if the body cannot be the file, and at its end if it is incomplete. */
async function* checkWhole(body: Readable, { origin, refusalIn, ...kind }: Expected): AsyncGenerator<Buffer> {
  const assertNo = (problem: string | undefined): void => {
    if (problem !== undefined) throw unreadableAnswer(endpoint, `${problem} (${origin})`, { httpStatus: 200 });
  };
  const looked = isJson(kind.contentType) ? maxErrorBytes : checkedBytes;
  const { head: start, isWhole, all } = await peek(body, (seen) => seen.length >= looked);
  // A body of the announced size is the file, whatever it holds.
  const refusal = isWhole && start.length !== kind.size ? refusalIn(start) : undefined;
  if (refusal) throw refusal;
  assertNo(problemOfResult({ start, ...kind }));
  const end = new LastBytes(checkedEnd);
  let bytes = 0;
  for await (const chunk of all) {
    end.add(chunk);
    bytes += chunk.length;
    yield chunk;
  }
  assertNo(problemOfEnd({ start, end: end.bytes(), bytes, ...kind }));
}

/** The last chunks of a stream, with at least this many bytes in all. */
class LastBytes {
  private readonly chunks: Buffer[] = [];
  private length = 0;

  constructor(private readonly wanted: number) {}

  add(chunk: Buffer): void {
    this.chunks.push(chunk);
    this.length += chunk.length;
    for (let [first] = this.chunks; first && this.length - first.length >= this.wanted; [first] = this.chunks) {
      this.length -= first.length;
      this.chunks.shift();
    }
  }

  bytes(): Buffer {
    return Buffer.concat(this.chunks);
  }
}

function isChunked(transferEncoding: string | string[] | undefined): boolean {
  return String(transferEncoding ?? '')
    .toLowerCase()
    .includes('chunked');
}

/** A storage host's error page may repeat the signed link, so it is not quoted. */
function foreignRefusal({ httpStatus, headers }: ExchangeAnswer, url: URL): ConversionApiError {
  return new ConversionApiError({
    code: `HTTP_${httpStatus}`,
    message: `${endpoint}: ${url.origin}, where the service keeps the file, answered HTTP ${httpStatus}`,
    endpoint,
    httpStatus,
    mayHaveExecuted: httpStatus !== 429,
    retryAfterSeconds: orderedWait(httpStatus, headers),
  });
}

function isJson(contentType: string | undefined): boolean {
  return /^application\/([\w.-]+\+)?json\s*(;|$)/i.test(contentType ?? '');
}
