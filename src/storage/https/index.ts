import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { createPublicAgent, PrivateAddressError, type Resolve } from '../../network/public-agent';
import { lastSegment, withoutSecrets } from '../../job/types';
import { isEmpty, notLookedAt, StorageError } from '../errors';
import { makeSafeName } from '../file-name';
import type { FileStore, SourceFile } from '../file-store';
import { assertReadable, changed, connectionFailure, refused, statusFailure } from './answers';

export interface HttpsFilesOptions {
  /** Host names, addresses and networks (`10.0.0.0/8`) that may be read although they are not public. Default: none. */
  allowedHosts?: readonly string[] | undefined;
  /** Whether redirects may lead to `http:`. To read such URLs directly, register the store for `http` too. Default: no. */
  plainHttp?: boolean | undefined;
  /** Maximum size of a file. Default: 5 GiB. */
  maxBytes?: number | undefined;
  /** Maximum silence of a server, and its maximum total time beyond 1 ms per byte. Default: 60,000. */
  stallMs?: number | undefined;
  resolve?: Resolve | undefined;
}

const maxRedirects = 5;
const defaultMaxBytes = 5 * 1024 ** 3;
/** Minimum rate beyond `stallMs`: a server that drips must not hold a worker's slot for a day. */
const minBytesPerMs = 1;
/** Extensions that a server may rightly serve as a web page. */
const pages = new Set(['', 'htm', 'html', 'xhtml', 'shtml', 'php', 'asp', 'aspx', 'jsp']);

interface Seen {
  readonly size: number;
  /** Identifies this content; absent if the server sends none. */
  readonly etag: string | undefined;
  readonly lastModified: string | undefined;
}

/** The read-only store for `https:` URIs. Connects only to public addresses, except `allowedHosts`. */
export function createHttpsFiles({
  allowedHosts = [],
  plainHttp = false,
  maxBytes = defaultMaxBytes,
  stallMs = 60_000,
  resolve,
}: HttpsFilesOptions = {}): FileStore {
  const agent = createPublicAgent({ allowedHosts, section: 'https', stallMs, resolve });
  const guard = { ...agent, assertReadable: (url: URL) => assertReadable(url, plainHttp) };

  async function see(uri: string): Promise<Seen> {
    const url = addressOf(uri);
    // By GET, for which signed URLs are made; most servers then send one byte.
    const answer = await get(guard, url, { range: 'bytes=0-0' });
    answer.body.on('error', () => undefined).destroy();
    if (answer.statusCode === 416) return { size: 0, etag: undefined, lastModified: undefined };
    if (answer.statusCode !== 200 && answer.statusCode !== 206) throw statusFailure(url, answer.statusCode);
    assertType(url, answer);
    const seen = { ...versionOf(answer), size: sizeOf(url, answer) };
    if (seen.size <= maxBytes) return seen;
    throw refused(url, 'SOURCE_UNREADABLE', `it has ${seen.size} bytes, and ${maxBytes} are allowed.`);
  }

  function read(uri: string, seen: Seen | undefined, { start = 0, signal }: ReadOptions = {}): Readable {
    const url = addressOf(uri);
    const ending = new AbortController();
    const signals = signal ? AbortSignal.any([signal, ending.signal]) : ending.signal;
    async function* bytes(): AsyncGenerator<Buffer> {
      // A weak ETag can't be used in a condition, but is compared below.
      const condition = seen?.etag?.startsWith('"') ? { 'if-match': seen.etag } : {};
      const answer = await get(guard, url, { ...condition, ...(start > 0 && { range: `bytes=${start}-` }) }, signals);
      // A server may ignore the range and send everything.
      const isFromStart =
        answer.statusCode === 206 && String(answer.headers['content-range']).startsWith(`bytes ${start}-`);
      if (answer.statusCode !== 200 && !isFromStart) {
        answer.body.on('error', () => undefined).destroy();
        throw statusFailure(url, answer.statusCode);
      }
      const { etag, lastModified } = versionOf(answer);
      if (seen && (etag !== seen.etag || lastModified !== seen.lastModified)) throw changed(url);
      let [passed, waitedMs, askedMs] = [isFromStart ? start : 0, 0, performance.now()];
      try {
        for await (const chunk of answer.body as AsyncIterable<Buffer>) {
          const skipped = Math.max(0, Math.min(chunk.length, start - passed));
          passed += chunk.length;
          if (passed > (seen?.size ?? maxBytes)) break;
          waitedMs += performance.now() - askedMs;
          if (waitedMs > stallMs + passed / minBytesPerMs) {
            throw refused(
              url,
              'STORAGE_FAILED',
              `it comes too slowly: ${passed} bytes in ${Math.ceil(waitedMs / 1_000)} s.`,
            );
          }
          yield chunk.subarray(skipped);
          askedMs = performance.now();
        }
      } catch (error) {
        throw connectionFailure(url, error);
      }
      if (!seen && passed > maxBytes) throw refused(url, 'SOURCE_UNREADABLE', `more than ${maxBytes} bytes arrive.`);
      if (seen && passed !== seen.size) throw changed(url);
    }
    const stream = Readable.from(bytes(), { objectMode: false });
    stream.once('close', () => ending.abort());
    return stream;
  }

  return {
    async openSource(uri): Promise<SourceFile> {
      const seen = await see(uri);
      const { size, etag, lastModified } = seen;
      if (size === 0) throw isEmpty(withoutSecrets(uri));
      const stamp = etag ?? lastModified;
      const name = makeSafeName(lastSegment(uri));
      return { uri, name, size, ...(stamp !== undefined && { stamp }), open: () => read(uri, seen) };
    },
    prepareDestination: ({ uri }) => Promise.reject(notWritten(uri)),
    writeDestination: ({ uri }) => Promise.reject(notWritten(uri)),
    discardPartial: () => Promise.resolve(),
    async look(uri) {
      try {
        const { size: bytes, etag, lastModified = '' } = await see(uri);
        const stamp = etag ?? lastModified;
        return { kind: 'file', identity: uri, stamp, bytes, modifiedAt: Date.parse(lastModified) || 0 };
      } catch (error) {
        if (error instanceof StorageError) return notLookedAt(error);
        throw error;
      }
    },
    read: (uri, options) => read(uri, undefined, options),
    walk: (folder) => {
      throw unsupported(folder, 'the files of a web server cannot be listed. Name each of them');
    },
    remove: (uri) => Promise.reject(notWritten(uri)),
  };
}

interface ReadOptions {
  start?: number | undefined;
  signal?: AbortSignal | undefined;
}

type Guard = ReturnType<typeof createPublicAgent> & { assertReadable: (url: URL) => void };

/** Follows redirects to the first other answer. No host receives anything that could identify this worker. */
async function get(
  guard: Guard,
  first: URL,
  headers: Record<string, string>,
  signal?: AbortSignal,
): Promise<Dispatcher.ResponseData> {
  // Loaded on first use: most programs read no files from the web.
  const { request } = await import('undici');
  const { dispatcher } = guard;
  const sent = { ...headers, 'accept-encoding': 'identity', 'user-agent': 'temporal-file-conversion' };
  try {
    let url = first;
    for (let redirects = 0; redirects <= maxRedirects; redirects += 1) {
      guard.assertReadable(url);
      await guard.assertPublic(url);
      const answer = await request(url, { dispatcher, headers: sent, ...(signal && { signal }) });
      const { location } = answer.headers;
      if (![301, 302, 303, 307, 308].includes(answer.statusCode) || typeof location !== 'string') return answer;
      answer.body.on('error', () => undefined).destroy();
      if (!URL.canParse(location, url.href)) {
        throw refused(first, 'SOURCE_UNREADABLE', 'it leads to an invalid address. Open it in a browser.');
      }
      url = new URL(location, url);
    }
  } catch (error) {
    if (error instanceof PrivateAddressError) throw refused(first, 'UNSUPPORTED_URI', error.message);
    throw connectionFailure(first, error);
  }
  throw refused(first, 'SOURCE_UNREADABLE', `it leads through more than ${maxRedirects} redirects.`);
}

function versionOf({ headers }: Dispatcher.ResponseData): Pick<Seen, 'etag' | 'lastModified'> {
  const [etag, lastModified] = [headers['etag'], headers['last-modified']];
  return {
    etag: typeof etag === 'string' ? etag : undefined,
    lastModified: typeof lastModified === 'string' ? lastModified : undefined,
  };
}

function sizeOf(url: URL, { statusCode, headers }: Dispatcher.ResponseData): number {
  const range = String(headers['content-range'] ?? '');
  const total = statusCode === 206 ? /\/(\d+)$/.exec(range)?.[1] : headers['content-length'];
  if (typeof total === 'string' && headers['content-encoding'] === undefined) return Number(total);
  const why = 'the server does not tell how many bytes it has. Download it, and convert the file.';
  throw refused(url, 'SOURCE_UNREADABLE', why);
}

/** Login and error pages often have status 200. */
function assertType(url: URL, { headers }: Dispatcher.ResponseData): void {
  const extension = /\.([^./]+)$/.exec(lastSegment(url.href))?.[1] ?? '';
  if (pages.has(extension.toLowerCase()) || !/^text\/html\b/i.test(String(headers['content-type'] ?? ''))) return;
  const why = `the server sends a web page and not a .${extension} file. Open it in a browser, and find the URL of the file itself.`;
  throw refused(url, 'SOURCE_UNREADABLE', why);
}

function addressOf(uri: string): URL {
  if (URL.canParse(uri)) return new URL(uri);
  throw unsupported(uri, 'it is not a valid address. Check host and port');
}

function notWritten(uri: string): StorageError {
  return unsupported(uri, 'https: URIs can only be read. Choose a destination in another store');
}

function unsupported(uri: string, why: string): StorageError {
  const shown = withoutSecrets(uri);
  return new StorageError({ code: 'UNSUPPORTED_URI', message: `Cannot use ${shown}: ${why}.`, uri: shown });
}
