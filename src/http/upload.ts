import { Readable } from 'node:stream';
import { endpoints } from '../contract/endpoints';
import type { ServiceAnswer, ServiceConnection } from './connection';
import type { UploadOptions, UploadSource } from './conversion-api';
import { ConversionApiError } from './errors';
import { frameFile } from './multipart';

const endpoint = endpoints.uploadFile;

/** Read-ahead of the upload; chunks of this size let the connection run at full speed (`docs/benchmarks.md`). */
const readAheadBytes = 512 * 1024;
/** A file up to this size is sent in one piece with its frame: copying costs less than separate writes. */
const smallFileBytes = 64 * 1024;

/** Uploads a file as a stream. Errors from the file's own stream pass through unchanged. */
export async function sendFile(connection: ServiceConnection, options: UploadOptions): Promise<ServiceAnswer> {
  const { file, signal, turn, onProgress } = options;
  const frame = frameFile({ app: connection.appId }, file.name);
  const watch = new ProgressWatch(connection.timeouts);
  const isSmall = file.size <= smallFileBytes;
  const failed: { source?: { error: unknown } } = {};
  let sentBytes = 0;

  async function* chunks(): AsyncGenerator<Uint8Array> {
    watch.progressed();
    const pieces: Uint8Array[] = [frame.head];
    if (!isSmall) yield frame.head;
    try {
      for await (const chunk of file.open()) {
        sentBytes += chunk.byteLength;
        if (sentBytes > file.size) throw fileChanged(file, `more than the ${file.size} bytes`);
        watch.progressed();
        if (isSmall) {
          pieces.push(chunk);
          continue;
        }
        yield chunk;
        onProgress?.(sentBytes);
      }
      if (sentBytes < file.size) throw fileChanged(file, `only ${sentBytes} of the ${file.size} bytes`);
    } catch (error) {
      failed.source = { error };
      throw error;
    }
    yield isSmall ? Buffer.concat([...pieces, frame.tail]) : frame.tail;
    if (isSmall) onProgress?.(sentBytes);
    watch.sentAll();
  }

  const body = Readable.from(chunks(), { objectMode: false, highWaterMark: readAheadBytes });
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
    connection.observer?.transferred({ direction: 'up', bytes: sentBytes });
  }
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
  readonly signal = this.#aborter.signal;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(private readonly limits: { stallMs: number; headersMs: number }) {}

  progressed(): void {
    const { stallMs } = this.limits;
    if (this.#timer) this.#timer.refresh();
    else this.#start(stallMs, `the upload made no progress for ${stallMs} ms`);
  }

  sentAll(): void {
    const { headersMs } = this.limits;
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
