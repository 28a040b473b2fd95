import { Readable } from 'node:stream';
import {
  type _Object,
  GetObjectCommand,
  HeadObjectCommand,
  type HeadObjectCommandOutput,
  ListObjectsV2Command,
  type S3Client,
} from '@aws-sdk/client-s3';
import { notLookedAt } from '../storage/errors';
import type { FileSnapshot, FoundFile, WalkedFile, WalkOptions } from '../storage/file-store';
import { answerOf, isMissing, sourceFailureOf } from './errors';
import { isFolder, toObjectUri, type ObjectPlace } from './object-uri';

interface SeenObject {
  readonly found: FoundFile;
  /** ETag of this content, for preconditions. */
  readonly etag: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** @throws the SDK's error of a GET, which has the server's code: the answer to a HEAD only has a status. */
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

/** Like `seeObject`, but undefined if there is no object. */
export async function findObject(client: S3Client, place: ObjectPlace): Promise<SeenObject | undefined> {
  try {
    return await seeObject(client, place);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** From the answer to a HEAD or from a listing. */
function toFound(
  place: ObjectPlace,
  listed: Pick<HeadObjectCommandOutput, 'ContentLength' | 'ETag' | 'LastModified'> & Pick<_Object, 'Size'>,
): FoundFile {
  // Rounded down to match: a HEAD reports whole seconds, a listing may be more precise.
  const seconds = Math.floor((listed.LastModified?.getTime() ?? 0) / 1_000);
  return {
    kind: 'file',
    identity: toObjectUri(place),
    stamp: `${listed.ETag ?? ''}@${seconds}`,
    bytes: listed.ContentLength ?? listed.Size ?? 0,
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
    return notLookedAt(sourceFailureOf(error, toObjectUri(place)));
  }
}

interface ReadOptions {
  /** Fails with SOURCE_CHANGED if the object has a different ETag. */
  etag?: string;
  start?: number | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * The bytes of an object. Errors are reported through the stream. If the connection breaks, as it does after a pause in reading, the
 * rest is requested again.
 */
export function readObject(
  client: S3Client,
  place: ObjectPlace,
  { etag: wanted, start = 0, signal }: ReadOptions = {},
): Readable {
  const { bucket: Bucket, key: Key } = place;
  let etag = wanted;
  let length: number | undefined;
  return new ObjectBytes({
    async open(passed, ending) {
      const from = start + passed;
      const range = from > 0 ? { Range: `bytes=${from}-` } : {};
      const request = new GetObjectCommand({ Bucket, Key, ...range, ...(etag !== undefined && { IfMatch: etag }) });
      try {
        const abortSignal = signal ? AbortSignal.any([signal, ending]) : ending;
        const { Body, ETag, ContentLength } = await client.send(request, { abortSignal });
        etag ??= ETag;
        length ??= ContentLength;
        return Body as Readable;
      } catch (error) {
        // The start is at or beyond the end of the object.
        if (start > 0 && passed === 0 && answerOf(error).status === 416) return Readable.from([]);
        throw error;
      }
    },
    // An error after the last byte is a checksum error, which must not be retried.
    mayOpenAgain: (passed) => etag !== undefined && passed < (length ?? 0) && signal?.aborted !== true,
    failureOf: (error) => (signal?.aborted ? (signal.reason as Error) : sourceFailureOf(error, toObjectUri(place))),
  });
}

interface BytesOptions {
  readonly open: (passed: number, ending: AbortSignal) => Promise<Readable>;
  readonly mayOpenAgain: (passed: number) => boolean;
  readonly failureOf: (error: unknown) => Error;
}

/** Passes chunks on directly: piping through another stream would take half as long again for a gigabyte. */
class ObjectBytes extends Readable {
  readonly #options: BytesOptions;
  readonly #ending = new AbortController();
  #body: Readable | undefined;
  #isOpening = false;
  #passed = 0;
  #passedBefore = 0;

  constructor(options: BytesOptions) {
    super({ highWaterMark: 512 * 1024 });
    this.#options = options;
  }

  override _construct(done: (error?: Error | null) => void): void {
    this.#open().then(
      () => done(),
      (error: unknown) => done(this.#options.failureOf(error)),
    );
  }

  async #open(): Promise<void> {
    this.#isOpening = true;
    const body = await this.#options.open(this.#passed, this.#ending.signal);
    this.#isOpening = false;
    this.#body = body;
    body.on('data', (chunk: Buffer) => {
      this.#passed += chunk.length;
      if (!this.push(chunk)) body.pause();
    });
    body.once('end', () => this.push(null));
    body.once('error', (error) => {
      this.#body = undefined;
      const hasCome = this.#passed > this.#passedBefore;
      this.#passedBefore = this.#passed;
      if (!hasCome || !this.#options.mayOpenAgain(this.#passed)) this.destroy(this.#options.failureOf(error));
      // Otherwise `_read` reopens it when more is wanted.
      else if (this.readableLength < this.readableHighWaterMark) this._read();
    });
  }

  override _read(): void {
    if (this.#body) this.#body.resume();
    else if (!this.#isOpening && !this.destroyed)
      this.#open().catch((error: unknown) => this.destroy(this.#options.failureOf(error)));
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#ending.abort();
    this.#body?.destroy();
    done(error);
  }
}

/** Sorts after everything that begins with a prefix. */
const afterAll = '\u{10ffff}';

/** The objects below a prefix, one listing page at a time; whole folders that are not entered are skipped. */
export async function* walkObjects(
  client: S3Client,
  { bucket, key: prefix }: ObjectPlace,
  { maxDepth = Infinity, enters = () => true, signal }: WalkOptions = {},
): AsyncGenerator<WalkedFile> {
  const isEntered = createGate(maxDepth, enters);
  let next: { StartAfter?: string; ContinuationToken?: string | undefined } | undefined = {};
  while (next) {
    const { Contents = [], IsTruncated = false, NextContinuationToken } = await list(next);
    let declined: string | undefined;
    for (const object of Contents) {
      const key = object.Key ?? '';
      if (declined !== undefined && key.startsWith(declined)) continue;
      const relative = key.slice(prefix.length);
      // Consoles create empty objects that represent folders.
      if (relative === '' || relative.endsWith('/')) continue;
      const refused = await isEntered(relative);
      declined = refused === undefined ? undefined : prefix + refused;
      if (declined !== undefined) continue;
      const place = { bucket, key };
      yield { uri: toObjectUri(place), relative, found: toFound(place, object) };
    }
    const further =
      declined === undefined ? { ContinuationToken: NextContinuationToken } : { StartAfter: declined + afterAll };
    next = IsTruncated ? further : undefined;
  }

  async function list(from: { StartAfter?: string; ContinuationToken?: string | undefined }) {
    try {
      const asked = { Bucket: bucket, Prefix: prefix, ...from, ...(maxDepth === 1 && { Delimiter: '/' }) };
      return await client.send(new ListObjectsV2Command(asked), signal ? { abortSignal: signal } : {});
    } catch (error) {
      signal?.throwIfAborted();
      throw sourceFailureOf(error, toObjectUri({ bucket, key: prefix }));
    }
  }
}

/** Asks once about each folder on the way to a file. A listing is sorted, so only the last path has to be remembered. */
function createGate(maxDepth: number, enters: NonNullable<WalkOptions['enters']>) {
  let entered: string[] = [];
  /** Returns the first folder that is not entered, with its slash. */
  return async (relative: string): Promise<string | undefined> => {
    const parts = relative.split('/').slice(0, -1);
    const folders = parts.map((_part, index) => parts.slice(0, index + 1).join('/'));
    for (const [depth, folder] of folders.entries()) {
      if (entered[depth] === folder) continue;
      entered = entered.slice(0, depth);
      if (depth + 1 >= maxDepth || !(await enters(folder))) return `${folder}/`;
      entered.push(folder);
    }
    return undefined;
  };
}
