import { createHash, randomUUID } from 'node:crypto';
import { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { S3Client } from '@aws-sdk/client-s3';
import { alreadyExists, assertSize, cannotWrite } from '../storage/errors';
import { numberName } from '../storage/file-name';
import type { StoredFile, WriteDestinationOptions } from '../storage/file-store';
import { whenAllowed } from '../storage/may-commit';
import { answerOf, destinationFailureOf, isRefusedByCondition } from './errors';
import { discardUploads, markOf } from './leftovers';
import { findObject, hashObject } from './objects';
import { folderOf, nameOf, toObjectUri, toPlace, type ObjectPlace } from './object-uri';
import { mostStreamedBytes, StreamedUpload } from './streamed-upload';
import { leastPartBytes, UploadInParts, type Upload, type UploadOptions } from './upload';

const maxNumber = 9_999;
/** Of the object: which write made it. A request whose answer is lost is sent again, and then finds its own object. */
const writeKey = 'fileconv-write';

interface Write extends WriteDestinationOptions {
  readonly client: S3Client;
  readonly place: ObjectPlace;
  readonly upload: Upload;
  readonly id: string;
}

/** Streams to one object. What is not whole is never seen under its name: S3 itself sees to it. */
export async function writeObject(client: S3Client, options: WriteDestinationOptions): Promise<StoredFile> {
  const { uri, jobKey, attempt, expectedSize, signal } = options;
  // Closed in every case: an unread body would keep its connection open.
  const body = options.body instanceof Readable ? options.body : Readable.from(options.body);
  // It may fail before it is read; without a listener that would end the process.
  body.on('error', () => undefined);
  const id = randomUUID();
  const ifFree = options.onExisting !== 'overwrite';
  const upload = begin({ client, mark: markOf(jobKey), metadata: { [writeKey]: id }, expectedSize, ifFree });
  try {
    const write = { ...options, client, place: toPlace(uri), upload, id };
    signal?.throwIfAborted();
    if (attempt > 1) await told(uri, discardUploads(client, write.place, jobKey));
    const sink = new UploadSink(write);
    await (signal ? pipeline(body, sink, { signal }) : pipeline(body, sink));
    await told(uri, upload.finish());
    const { bytes } = sink;
    const content = { bytes, sha256: sink.digest() };
    const place = await commit(write, content);
    return place ? stored(place, content, false) : stored(write.place, await hashObject(client, write.place), true);
  } catch (error) {
    // The signal destroys the body with an error of its own; callers expect the reason they gave.
    throw signal?.aborted ? signal.reason : error;
  } finally {
    body.destroy();
    await upload.discard();
  }
}

/** Few bytes are kept until they are whole, and then sent again if need be; how many come must be known of one request. */
function begin(options: UploadOptions): Upload {
  const { expectedSize = 0 } = options;
  const isStreamed = expectedSize > leastPartBytes && expectedSize <= mostStreamedBytes;
  return isStreamed ? new StreamedUpload(options) : new UploadInParts(options);
}

interface Content {
  readonly bytes: number;
  readonly sha256: string;
}

function stored(place: ObjectPlace, content: Content, skipped: boolean): StoredFile {
  return { uri: toObjectUri(place), name: nameOf(place), ...content, skipped };
}

/** The failure of a request, in the words of the store. What body, signal and `mayCommit` throw stays as it is. */
async function told<T>(uri: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw destinationFailureOf(error, uri);
  }
}

class UploadSink extends Writable {
  readonly #write: Write;
  readonly #hash = createHash('sha256');
  bytes = 0;

  constructor(write: Write) {
    super({ highWaterMark: 512 * 1024 });
    this.#write = write;
  }

  digest(): string {
    return this.#hash.digest('hex');
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    told(this.#write.uri, this.#store([chunk])).then(() => done(), done);
  }

  override _writev(chunks: { chunk: Buffer }[], done: (error?: Error | null) => void): void {
    told(this.#write.uri, this.#store(chunks.map(({ chunk }) => chunk))).then(() => done(), done);
  }

  override _final(done: (error?: Error | null) => void): void {
    try {
      assertSize(this.#write.uri, this.#write.expectedSize, this.bytes, true);
      done();
    } catch (error) {
      done(error as Error);
    }
  }

  async #store(chunks: readonly Buffer[]): Promise<void> {
    const { upload, uri, expectedSize, onProgress } = this.#write;
    for (const chunk of chunks) {
      this.#hash.update(chunk);
      this.bytes += chunk.length;
      assertSize(uri, expectedSize, this.bytes, false);
      await upload.add(chunk, () => firstFree(this.#write));
    }
    onProgress?.(this.bytes);
  }
}

/** An upload of more than a few bytes is bound to its key from the start. */
async function firstFree({ client, place, onExisting }: Write): Promise<ObjectPlace> {
  for (let number = 0; onExisting === 'rename' && number <= maxNumber; number += 1) {
    const candidate = numbered(place, number);
    if (!(await findObject(client, candidate))) return candidate;
  }
  return place;
}

/** Where the bytes are now an object; undefined if the policy is `skip` and the name is taken. */
async function commit(write: Write, content: Content): Promise<ObjectPlace | undefined> {
  const { client, place, upload, uri, onExisting, attempt } = write;
  for (let number = 0; number <= maxNumber; number += 1) {
    const candidate = numbered(place, number);
    const isBoundElsewhere = upload.place !== undefined && upload.place.key !== candidate.key;
    const isTaken = onExisting === 'rename' && (await told(uri, findObject(client, candidate))) !== undefined;
    if (!isBoundElsewhere && !isTaken && (await claim(write, candidate))) return candidate;
    if (attempt > 1 && (await told(uri, holds(client, candidate, content)))) return candidate;
    if (onExisting === 'skip') return undefined;
    if (onExisting !== 'rename') break;
    if (upload.place?.key === candidate.key) {
      const why = 'another file has taken its name while the bytes came; the next attempt takes another name.';
      throw cannotWrite(uri, { code: 'STORAGE_FAILED', why, retryable: true });
    }
  }
  throw alreadyExists(uri);
}

/** Returns false if the name is taken by an object that is not this write's own. */
async function claim(write: Write, candidate: ObjectPlace): Promise<boolean> {
  const { client, upload, uri, id } = write;
  return whenAllowed(write, async () => {
    try {
      await upload.commit(candidate);
      return true;
    } catch (error) {
      if (!leavesDoubt(error)) throw destinationFailureOf(error, uri);
      const existing = await told(uri, findObject(client, candidate));
      if (existing?.metadata[writeKey] === id) return true;
      if (isRefusedByCondition(error)) return false;
      throw destinationFailureOf(error, uri);
    }
  });
}

/** The object may be there: the request was sent before, or its answer is lost. */
function leavesDoubt(error: unknown): boolean {
  const { name, status } = answerOf(error);
  return status === undefined || name === 'NoSuchUpload' || isRefusedByCondition(error);
}

async function holds(client: S3Client, place: ObjectPlace, { bytes, sha256 }: Content): Promise<boolean> {
  const object = await findObject(client, place);
  return object?.found.bytes === bytes && (await hashObject(client, place)).sha256 === sha256;
}

function numbered(place: ObjectPlace, number: number): ObjectPlace {
  return number === 0 ? place : { ...place, key: folderOf(place) + numberName(nameOf(place), number) };
}
