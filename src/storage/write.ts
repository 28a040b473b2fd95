import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { Writable, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { pathToFileURL } from 'node:url';
import { commitPartial, type Link } from './commit';
import { assertSize, destinationFailure, systemCode } from './errors';
import type { StoredFile, WriteDestinationOptions } from './file-store';
import { toPath } from './file-uri';
import { makeFolder, assertRoom, freeBytesOf, type FreeBytes } from './folders';
import { PartialFile, removePartials } from './partial-file';
import { describeFile } from './source';

interface LocalWriteOptions extends WriteDestinationOptions {
  link?: Link | undefined;
  freeBytes?: FreeBytes;
}

export async function writeLocalFile(options: LocalWriteOptions): Promise<StoredFile> {
  const { uri, signal } = options;
  // Closed in every case: an unread body would keep its connection open.
  const body = options.body instanceof Readable ? options.body : Readable.from(options.body);
  // It may fail before it is read; without a listener that would end the process.
  body.on('error', () => undefined);
  try {
    const filePath = toPath(uri);
    signal?.throwIfAborted();
    const partial = await startPartial(filePath, options);
    try {
      // Fails early rather than filling the disk that others use too.
      const folder = path.dirname(filePath);
      const { expectedSize, freeBytes = freeBytesOf } = options;
      if (expectedSize !== undefined) await assertRoom({ uri, folder, bytes: expectedSize, freeBytes });
      const { bytes, sha256 } = await receive(body, partial.handle, options);
      const committed = await commitPartial({ ...options, filePath, partial, bytes, sha256 });
      if (committed === undefined) return await describeSkipped(uri, filePath);
      const name = path.basename(committed);
      return { uri: pathToFileURL(committed).href, name, bytes, sha256, skipped: false };
    } finally {
      await partial.discard();
    }
  } catch (error) {
    // The signal destroys the body with an error of its own; callers expect the reason they gave.
    throw signal?.aborted ? signal.reason : error;
  } finally {
    body.destroy();
  }
}

async function startPartial(filePath: string, { uri, jobKey, attempt }: WriteDestinationOptions): Promise<PartialFile> {
  try {
    // The first attempt has no predecessor, and listing a folder of 40,000 outputs once per output would be slow.
    if (attempt > 1) await removePartials(path.dirname(filePath), jobKey);
    const identity = { uri, filePath, jobKey, attempt };
    try {
      return await PartialFile.create(identity);
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') throw error;
      await makeFolder(path.dirname(filePath));
      return await PartialFile.create(identity);
    }
  } catch (error) {
    throw destinationFailure(error, uri);
  }
}

/** Writes the body to the file, hashing it on the way, and syncs the file. */
async function receive(
  body: Readable,
  handle: FileHandle,
  { uri, expectedSize, signal, onProgress }: WriteDestinationOptions,
): Promise<{ bytes: number; sha256: string }> {
  const sink = new HashingSink({
    handle,
    uri,
    onBytes(bytes) {
      assertSize(uri, expectedSize, bytes, false);
      onProgress?.(bytes);
    },
  });
  await (signal ? pipeline(body, sink, { signal }) : pipeline(body, sink));
  assertSize(uri, expectedSize, sink.bytes, true);
  await handle.sync().catch((error: unknown) => {
    throw destinationFailure(error, uri);
  });
  return { bytes: sink.bytes, sha256: sink.digest() };
}

async function describeSkipped(uri: string, filePath: string): Promise<StoredFile> {
  const existing = await describeFile(uri);
  const name = path.basename(filePath);
  return { uri, name, bytes: existing?.bytes ?? 0, sha256: existing?.sha256 ?? '', skipped: true };
}

/** Bytes that may be buffered while a write is in progress; they are then written in one call. */
const waitingBytes = 512 * 1024;

interface SinkOptions {
  readonly handle: FileHandle;
  readonly uri: string;
  /** Called with the total as bytes arrive; if it throws, the stream fails. */
  readonly onBytes: (bytes: number) => void;
}

/**
 * Writes a stream to a file and hashes it. Chunks are written without being joined first, and hashed while the system
 * writes them: for a gigabyte this halves the CPU time of reading the body with `for await`. Its own failures are
 * `StorageError`, to distinguish them from failures of the body.
 */
class HashingSink extends Writable {
  readonly #options: SinkOptions;
  readonly #hash = createHash('sha256');
  bytes = 0;

  constructor(options: SinkOptions) {
    super({ highWaterMark: waitingBytes });
    this.#options = options;
  }

  digest(): string {
    return this.#hash.digest('hex');
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#store([chunk]).then(() => done(), done);
  }

  override _writev(chunks: { chunk: Buffer }[], done: (error?: Error | null) => void): void {
    this.#store(chunks.map(({ chunk }) => chunk)).then(() => done(), done);
  }

  async #store(chunks: Buffer[]): Promise<void> {
    const { handle, uri, onBytes } = this.#options;
    const writing = writeAll(handle, chunks).catch((error: unknown) => {
      throw destinationFailure(error, uri);
    });
    try {
      for (const chunk of chunks) {
        this.#hash.update(chunk);
        this.bytes += chunk.length;
      }
      onBytes(this.bytes);
    } finally {
      // Even if `onBytes` throws: the file must not be closed during a write.
      await writing;
    }
  }
}

/** The system may write fewer bytes than it was given. */
async function writeAll(handle: FileHandle, chunks: Buffer[]): Promise<void> {
  let { bytesWritten: skip } = await handle.writev(chunks);
  for (const chunk of chunks) {
    let offset = Math.min(skip, chunk.length);
    skip -= offset;
    while (offset < chunk.length) offset += (await handle.write(chunk, offset)).bytesWritten;
  }
}
