import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { pathToFileURL } from 'node:url';
import { commitPartial, type Link } from './commit';
import { assertSize, systemCode, writing } from './errors';
import type { StoredFile, WriteDestinationOptions } from './file-store';
import { toPath } from './file-uri';
import { assertRoom, makeFolder, type FreeBytes } from './folders';
import { PartialFile, removePartials } from './partial-file';
import { describeFile, type Content } from './source';

interface LocalWriteOptions extends WriteDestinationOptions {
  link: Link | undefined;
  freeBytes: FreeBytes;
}

export function writeLocalFile(options: LocalWriteOptions): Promise<StoredFile> {
  const { uri, expectedSize, freeBytes } = options;
  return withBody(options, async (body) => {
    const filePath = toPath(uri);
    const partial = await writing(uri, () => startPartial(filePath, options));
    try {
      // Fails early rather than filling a disk that others use too.
      await assertRoom({ uri, folder: path.dirname(filePath), bytes: expectedSize, freeBytes });
      const store = (chunks: Buffer[]) => writing(uri, () => writeAll(partial.handle, chunks));
      const content = await receive(body, { ...options, store });
      await writing(uri, () => partial.handle.sync());
      const committed = await commitPartial({ ...options, ...content, filePath, partial });
      if (committed === undefined) return await describeSkipped(uri, filePath);
      return { uri: pathToFileURL(committed).href, name: path.basename(committed), ...content, skipped: false };
    } finally {
      await partial.discard();
    }
  });
}

async function startPartial(filePath: string, { uri, jobKey, attempt }: WriteDestinationOptions): Promise<PartialFile> {
  // The first attempt has no predecessor, and listing a folder of 40,000 results for each result would be slow.
  if (attempt > 1) await removePartials(path.dirname(filePath), jobKey);
  const identity = { uri, filePath, jobKey, attempt };
  try {
    return await PartialFile.create(identity);
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error;
    await makeFolder(path.dirname(filePath));
    return PartialFile.create(identity);
  }
}

async function describeSkipped(uri: string, filePath: string): Promise<StoredFile> {
  const { bytes = 0, sha256 = '' } = (await describeFile(uri)) ?? {};
  return { uri, name: path.basename(filePath), bytes, sha256, skipped: true };
}

/** The system may write fewer bytes than requested. */
export async function writeAll(handle: FileHandle, chunks: Buffer[]): Promise<void> {
  let { bytesWritten: skip } = await handle.writev(chunks);
  for (const chunk of chunks) {
    let offset = Math.min(skip, chunk.length);
    skip -= offset;
    while (offset < chunk.length) offset += (await handle.write(chunk, offset)).bytesWritten;
  }
}

/** Runs a write and closes its body in every case: an unread body would keep its connection open. */
export async function withBody<T>(
  { body: given, signal }: Pick<WriteDestinationOptions, 'body' | 'signal'>,
  write: (body: Readable) => Promise<T>,
): Promise<T> {
  const body = given instanceof Readable ? given : Readable.from(given);
  // The body may fail before it is read, and an unhandled error event would end the process.
  body.on('error', () => undefined);
  try {
    signal?.throwIfAborted();
    return await write(body);
  } catch (error) {
    // An abort destroys the body with another error; callers expect the reason of their signal.
    throw signal?.aborted ? signal.reason : error;
  } finally {
    body.destroy();
  }
}

interface Receiver extends Pick<WriteDestinationOptions, 'uri' | 'expectedSize' | 'signal'> {
  /** Must fail with `StorageError`, to distinguish its failures from those of the body. */
  readonly store: (chunks: Buffer[]) => Promise<void>;
}

/** Stores and hashes the body. @throws StorageError SIZE_MISMATCH before too many bytes are stored */
export async function receive(body: Readable, receiver: Receiver): Promise<Content> {
  const { signal } = receiver;
  const sink = new HashingSink(receiver);
  await (signal ? pipeline(body, sink, { signal }) : pipeline(body, sink));
  return { bytes: sink.bytes, sha256: sink.digest() };
}

/** Bytes that may be buffered while others are stored; one call then stores them all. */
const waitingBytes = 512 * 1024;

/**
 * Stores chunks without joining them first, and hashes them meanwhile: for a gigabyte this takes half the CPU time of reading the body
 * with `for await`.
 */
class HashingSink extends Writable {
  readonly #receiver: Receiver;
  readonly #hash = createHash('sha256');
  bytes = 0;

  constructor(receiver: Receiver) {
    super({ highWaterMark: waitingBytes });
    this.#receiver = receiver;
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

  override _final(done: (error?: Error | null) => void): void {
    try {
      assertSize(this.#receiver.uri, this.#receiver.expectedSize, this.bytes, true);
      done();
    } catch (error) {
      done(error as Error);
    }
  }

  async #store(chunks: Buffer[]): Promise<void> {
    const { uri, expectedSize, store } = this.#receiver;
    for (const { length } of chunks) this.bytes += length;
    assertSize(uri, expectedSize, this.bytes, false);
    const storing = store(chunks);
    for (const chunk of chunks) this.#hash.update(chunk);
    await storing;
  }
}
