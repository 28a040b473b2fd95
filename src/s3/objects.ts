import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';

import { pipeline } from 'node:stream/promises';
import {
  type _Object,
  GetObjectCommand,
  HeadObjectCommand,
  type HeadObjectCommandOutput,
  ListObjectsV2Command,
  type S3Client,
} from '@aws-sdk/client-s3';
import type { FileSnapshot, FoundFile } from '../storage/file-store';
import { answerOf, isMissing, sourceFailureOf } from './errors';
import { isFolder, toObjectUri, type ObjectPlace } from './object-uri';

export interface SeenObject {
  readonly found: FoundFile;
  /** Names this content in a precondition. */
  readonly etag: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** @throws the SDK's error, which says why: the server's code, not the bare status of HEAD. */
export async function seeObject(client: S3Client, place: ObjectPlace): Promise<SeenObject> {
  const { bucket: Bucket, key: Key } = place;
  try {
    const head = await client.send(new HeadObjectCommand({ Bucket, Key }));
    return { found: toFound(place, head), etag: head.ETag ?? '', metadata: head.Metadata ?? {} };
  } catch (error) {
    if (answerOf(error).status === undefined) throw error;
    const { Body } = await client.send(new GetObjectCommand({ Bucket, Key, Range: 'bytes=0-0' }));
    (Body as Readable).destroy();
    throw error;
  }
}

/** The same object if there is one. */
export async function findObject(client: S3Client, place: ObjectPlace): Promise<SeenObject | undefined> {
  try {
    return await seeObject(client, place);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** What HEAD or a listing tells of an object. */
export function toFound(
  place: ObjectPlace,
  told: Pick<HeadObjectCommandOutput, 'ContentLength' | 'ETag' | 'LastModified'> & Pick<_Object, 'Size'>,
): FoundFile {
  // A HEAD tells whole seconds, a listing may tell more.
  const seconds = Math.floor((told.LastModified?.getTime() ?? 0) / 1_000);
  return {
    kind: 'file',
    identity: toObjectUri(place),
    stamp: `${told.ETag ?? ''}@${seconds}`,
    bytes: told.ContentLength ?? told.Size ?? 0,
    modifiedAt: seconds * 1_000,
  };
}

export async function look(client: S3Client, place: ObjectPlace): Promise<FileSnapshot> {
  const { bucket: Bucket, key } = place;
  try {
    const object = isFolder(place) ? undefined : await findObject(client, place);
    if (object) return object.found;
    const Prefix = isFolder(place) ? key : `${key}/`;
    const { KeyCount = 0 } = await client.send(new ListObjectsV2Command({ Bucket, Prefix, MaxKeys: 1 }));
    if (KeyCount > 0 || key === '') return { kind: 'folder', identity: toObjectUri({ ...place, key: Prefix }) };
    return { kind: 'none', reason: 'does not exist', isLink: false };
  } catch (error) {
    const failure = sourceFailureOf(error, toObjectUri(place));
    if (failure.retryable) throw failure;
    const { message } = failure;
    return {
      kind: 'none',
      reason: `cannot be looked at: ${message.slice(message.indexOf(': ') + 2).replace(/\.$/, '')}`,
      isLink: false,
    };
  }
}

interface ReadOptions {
  /** Fails with SOURCE_CHANGED if the object has another. */
  etag?: string;
  start?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** The bytes of an object. What goes wrong comes by way of the stream. */
export function readObject(
  client: S3Client,
  place: ObjectPlace,
  { etag, start = 0, signal }: ReadOptions = {},
): Readable {
  const { bucket: Bucket, key: Key } = place;
  const range = start > 0 ? { Range: `bytes=${start}-` } : {};
  const request = new GetObjectCommand({ Bucket, Key, ...range, ...(etag !== undefined && { IfMatch: etag }) });
  return new ObjectBytes({
    async open(ending) {
      try {
        const abortSignal = signal ? AbortSignal.any([signal, ending]) : ending;
        return (await client.send(request, { abortSignal })).Body as Readable;
      } catch (error) {
        // No byte is left from there on.
        if (start > 0 && answerOf(error).status === 416) return Readable.from([]);
        throw error;
      }
    },
    failureOf: (error) => (signal?.aborted ? (signal.reason as Error) : sourceFailureOf(error, toObjectUri(place))),
  });
}

interface BytesOptions {
  readonly open: (ending: AbortSignal) => Promise<Readable>;
  readonly failureOf: (error: unknown) => Error;
}

/** Passes chunks on as they come; as a pipe through another stream a gigabyte takes half as long again. */
class ObjectBytes extends Readable {
  readonly #options: BytesOptions;
  readonly #ending = new AbortController();
  #body: Readable | undefined;

  constructor(options: BytesOptions) {
    super({ highWaterMark: 512 * 1024 });
    this.#options = options;
  }

  override _construct(done: (error?: Error | null) => void): void {
    const { open, failureOf } = this.#options;
    open(this.#ending.signal).then(
      (body) => {
        this.#body = body;
        body.on('data', (chunk: Buffer) => {
          if (!this.push(chunk)) body.pause();
        });
        body.once('end', () => this.push(null));
        body.once('error', (error) => this.destroy(failureOf(error)));
        done();
      },
      (error: unknown) => done(failureOf(error)),
    );
  }

  override _read(): void {
    this.#body?.resume();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#ending.abort();
    this.#body?.destroy();
    done(error);
  }
}

/** @throws StorageError */
export async function hashObject(
  client: S3Client,
  place: ObjectPlace,
  signal?: AbortSignal,
): Promise<{ bytes: number; sha256: string }> {
  const hash = createHash('sha256');
  let bytes = 0;
  const body = readObject(client, place, { signal });
  body.on('data', (chunk: Buffer) => (bytes += chunk.length));
  await pipeline(body, hash);
  return { bytes, sha256: hash.digest('hex') };
}
