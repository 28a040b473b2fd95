import { Readable } from 'node:stream';
import { endpoints } from '../contract/endpoints';
import type { ServiceAnswer, ServiceConnection } from './connection';
import type { RequestTurn, UploadSource } from './conversion-api';
import { ConversionApiError } from './errors';
import { frameFile } from './multipart';

interface UploadOptions {
  readonly file: UploadSource;
  readonly signal?: AbortSignal | undefined;
  readonly turn?: RequestTurn | undefined;
  readonly onProgress?: ((sentBytes: number) => void) | undefined;
}

const endpoint = endpoints.uploadFile;

/** Read-ahead of the upload; chunks of this size let the connection run at full speed (`docs/benchmarks.md`). */
const readAheadBytes = 512 * 1024;
/** A file up to this size is sent in one piece with its frame: copying costs less than separate writes. */
const smallFileBytes = 64 * 1024;

/** Uploads a file as a stream. Errors from the file's own stream pass through unchanged. */
export async function sendFile(connection: ServiceConnection, options: UploadOptions): Promise<ServiceAnswer> {
  const { file, signal, turn } = options;
  const frame = frameFile({ app: connection.appId }, file.name);
  const watch = new ProgressWatch(connection.timeouts);
  const failed: { source?: { error: unknown } } = {};
  const sent = { bytes: 0 };
  const body = Readable.from(framedChunks({ ...options, frame, watch, failed, sent }), {
    objectMode: false,
    highWaterMark: readAheadBytes,
  });
  try {
    return await connection.post({
      endpoint,
      contentType: frame.contentType,
      contentLength: frame.head.length + file.size + frame.tail.length,
      body,
      // ProgressWatch separates sending from waiting; undici's timer would take a slow upload for a missing response.
      headersTimeoutMs: 0,
      signal: signal ? AbortSignal.any([signal, watch.signal]) : watch.signal,
      turn: { signal, ...turn },
    });
  } catch (error) {
    throw failed.source ? failed.source.error : error;
  } finally {
    watch.stop();
    body.destroy();
    connection.observer?.transferred({ direction: 'up', bytes: sent.bytes });
  }
}

async function* framedChunks({
  file,
  onProgress,
  frame,
  watch,
  failed,
  sent,
}: UploadOptions & {
  frame: { head: Buffer; tail: Buffer };
  watch: ProgressWatch;
  failed: { source?: { error: unknown } };
  sent: { bytes: number };
}): AsyncGenerator<Uint8Array> {
  watch.progressed();
  const pieces: Uint8Array[] = [frame.head];
  const isSmall = file.size <= smallFileBytes;
  if (!isSmall) yield frame.head;
  try {
    for await (const chunk of file.open()) {
      sent.bytes += chunk.byteLength;
      if (sent.bytes > file.size) throw fileChanged(file, `more than the ${file.size} bytes`);
      watch.progressed();
      if (isSmall) {
        pieces.push(chunk);
        continue;
      }
      yield chunk;
      onProgress?.(sent.bytes);
    }
    if (sent.bytes < file.size) throw fileChanged(file, `only ${sent.bytes} of the ${file.size} bytes`);
  } catch (error) {
    failed.source = { error };
    throw error;
  }
  yield isSmall ? Buffer.concat([...pieces, frame.tail]) : frame.tail;
  if (isSmall) onProgress?.(sent.bytes);
  watch.sentAll();
}

function fileChanged(file: UploadSource, found: string): ConversionApiError {
  return new ConversionApiError({
    code: 'FILE_CHANGED',
    message: `${endpoint}: ${file.name} changed while it was being sent: it now has ${found} it had`,
    endpoint,
    // The request was never complete.
    mayHaveExecuted: false,
  });
}

/** Aborts an upload without progress for `stallMs`, or without a response for `headersMs` after the last byte. */
class ProgressWatch {
  readonly #aborter = new AbortController();
  readonly #limits: { stallMs: number; headersMs: number };
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(limits: { stallMs: number; headersMs: number }) {
    this.#limits = limits;
  }

  get signal(): AbortSignal {
    return this.#aborter.signal;
  }

  progressed(): void {
    const { stallMs } = this.#limits;
    if (this.#timer) this.#timer.refresh();
    else this.#start(stallMs, `the upload made no progress for ${stallMs} ms`);
  }

  sentAll(): void {
    const { headersMs } = this.#limits;
    clearTimeout(this.#timer);
    this.#start(headersMs, `no answer within ${headersMs} ms after the upload`);
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #start(limitMs: number, message: string): void {
    if (limitMs === 0 || this.#stopped) return;
    this.#timer = setTimeout(() => {
      this.#aborter.abort(
        new ConversionApiError({
          code: 'REQUEST_TIMEOUT',
          message: `${endpoint}: ${message}`,
          endpoint,
          mayHaveExecuted: true,
        }),
      );
    }, limitMs);
  }
}
