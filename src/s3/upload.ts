import { createHash, webcrypto } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  ListPartsCommand,
  PutObjectCommand,
  UploadPartCommand,
  type MultipartUpload,
  type S3Client,
} from '@aws-sdk/client-s3';
import { answerOf } from './errors';
import { isFolder, type ObjectPlace } from './object-uri';

/** The minimum size that S3 accepts for a part other than the last. */
export const minPartBytes = 5 * 1024 * 1024;
const maxParts = 9_999;
const partsAtATime = 4;
/** Time for requests in flight when their upload is given up. */
const sendingGraceMs = 5_000;
/** Above the numbers of the parts that become the object; the mark itself does not become part of it. */
const markNumber = 10_000;

export interface ObjectUploadOptions {
  readonly client: S3Client;
  /** Content of a part that identifies the job's uploads to `discardUploads`. */
  readonly mark: Buffer;
  readonly metadata: Record<string, string>;
  readonly expectedSize: number | undefined;
  /** Fails if the name is taken. */
  readonly ifFree: boolean;
}

export interface Upload {
  /** Set once the key is decided: the bytes can't become another object. */
  readonly place: ObjectPlace | undefined;
  /** `choosePlace` is called when the key has to be decided. */
  add(chunk: Buffer, choosePlace: () => Promise<ObjectPlace>): Promise<void>;
  /** Call after the last byte; resolves when only `commit` is left. */
  finish(): Promise<void>;
  /** Makes the bytes an object, atomically; fails with status 412 if `ifFree` is set and the name is taken. */
  commit(place: ObjectPlace): Promise<void>;
  /** Leaves nothing at the server. Never throws: the outcome is settled, and `discardUploads` finds any leftovers. */
  discard(): Promise<void>;
}

/** A single request at the end if the bytes fit into one part, else a multipart upload. */
export class UploadInParts implements Upload {
  readonly #options: ObjectUploadOptions;
  readonly #partBytes: number;
  readonly #ending = new AbortController();
  readonly #parts: { PartNumber: number; ETag: string | undefined; ChecksumSHA256: string }[] = [];
  readonly #sending = new Set<Promise<void>>();
  /** Large buffers are reused, so that memory use does not depend on the garbage collector. */
  readonly #free: Buffer[] = [];
  #started: { readonly place: ObjectPlace; readonly id: string } | undefined;
  #adding: Promise<void> | undefined;
  #buffer: Buffer | undefined;
  #filled = 0;
  #sent = 0;

  constructor(options: ObjectUploadOptions) {
    this.#options = options;
    this.#partBytes = Math.max(minPartBytes, Math.ceil((options.expectedSize ?? 0) / maxParts));
  }

  get place(): ObjectPlace | undefined {
    return this.#started?.place;
  }

  async add(chunk: Buffer, choosePlace: () => Promise<ObjectPlace>): Promise<void> {
    this.#adding = this.#take(chunk, choosePlace);
    await this.#adding;
    this.#adding = undefined;
  }

  async #take(chunk: Buffer, choosePlace: () => Promise<ObjectPlace>): Promise<void> {
    for (let offset = 0; offset < chunk.length;) {
      if (this.#filled === this.#partBytes) {
        this.#started ??= await this.#start(await choosePlace());
        await this.#sendPart();
      }
      this.#buffer ??= this.#free.pop() ?? Buffer.allocUnsafeSlow(this.#nextBytes());
      const copied = chunk.copy(this.#buffer, this.#filled, offset);
      this.#filled += copied;
      offset += copied;
    }
  }

  async finish(): Promise<void> {
    if (!this.#started) return;
    await this.#sendPart();
    await Promise.all(this.#sending);
  }

  async commit(place: ObjectPlace): Promise<void> {
    const { client, metadata, ifFree } = this.#options;
    const { bucket: Bucket, key: Key } = place;
    const condition = ifFree ? { IfNoneMatch: '*' } : {};
    if (this.#started) {
      const MultipartUpload = { Parts: this.#parts.sort((a, b) => a.PartNumber - b.PartNumber) };
      const UploadId = this.#started.id;
      await client.send(new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload, ...condition }));
      this.#started = undefined;
      return;
    }
    const bytes = this.#buffer?.subarray(0, this.#filled) ?? Buffer.alloc(0);
    const put = new PutObjectCommand({ Bucket, Key, ...(await content(bytes)), Metadata: metadata, ...condition });
    put.middlewareStack.add(withPlainBody, afterOthers);
    await client.send(put);
  }

  async discard(): Promise<void> {
    // Wait first: a part still being received when the upload is aborted would stay, and cutting the connection does not stop the server.
    if (this.#adding || this.#sending.size > 0) {
      await Promise.race([this.#untilSent(), sleep(sendingGraceMs, undefined, { ref: false })]);
    }
    this.#ending.abort();
    await Promise.allSettled(this.#sending);
    await this.#end();
  }

  async #end(): Promise<void> {
    if (!this.#started) return;
    const { place, id } = this.#started;
    const abort = new AbortMultipartUploadCommand({ Bucket: place.bucket, Key: place.key, UploadId: id });
    await this.#options.client.send(abort).catch(() => undefined);
  }

  async #untilSent(): Promise<void> {
    await Promise.allSettled([this.#adding]);
    await Promise.allSettled(this.#sending);
  }

  async #start(place: ObjectPlace): Promise<{ place: ObjectPlace; id: string }> {
    const { client, mark, metadata } = this.#options;
    const { bucket: Bucket, key: Key } = place;
    const create = new CreateMultipartUploadCommand({ Bucket, Key, Metadata: metadata, ChecksumAlgorithm: 'SHA256' });
    const { UploadId: id = '' } = await client.send(create);
    this.#started = { place, id };
    // The upload was discarded before the server answered.
    if (this.#ending.signal.aborted) await this.#end();
    await this.#sendAs(markNumber, mark, this.#started);
    return this.#started;
  }

  async #sendPart(): Promise<void> {
    while (this.#sending.size >= partsAtATime) await Promise.race(this.#sending);
    const [buffer, started] = [this.#buffer, this.#started];
    if (!buffer || !started) return;
    this.#sent += 1;
    const number = this.#sent;
    const sending = this.#sendAs(number, buffer.subarray(0, this.#filled), started).then((part) => {
      this.#parts.push(part);
      this.#free.push(buffer);
      this.#sending.delete(sending);
    });
    this.#sending.add(sending);
    // The next wait reports the error.
    sending.catch(() => undefined);
    this.#buffer = undefined;
    this.#filled = 0;
  }

  async #sendAs(PartNumber: number, bytes: Buffer, { place, id: UploadId }: { place: ObjectPlace; id: string }) {
    const { bucket: Bucket, key: Key } = place;
    const checked = await content(bytes);
    const part = new UploadPartCommand({ Bucket, Key, UploadId, PartNumber, ...checked });
    part.middlewareStack.add(withPlainBody, afterOthers);
    const { ETag } = await this.#options.client.send(part, { abortSignal: this.#ending.signal });
    return { PartNumber, ETag, ChecksumSHA256: checked.ChecksumSHA256 };
  }

  /** At most the expected size: 50 concurrent small files should take little memory. */
  #nextBytes(): number {
    const { expectedSize } = this.#options;
    return expectedSize === undefined || this.#started ? this.#partBytes : Math.min(expectedSize, this.#partBytes) || 1;
  }
}

/** Hashed off the main thread, which hashes the whole file at the same time. */
async function content(Body: Buffer) {
  const digest = await webcrypto.subtle.digest('SHA-256', Body);
  return { Body, ContentLength: Body.length, ChecksumSHA256: Buffer.from(digest).toString('base64') };
}

const afterOthers = { step: 'build', priority: 'low' } as const;

/**
 * The signature covers the SHA-256 by which the server checks the bytes; signing the payload too would hash it again. Also removes
 * `Expect`, which costs a round trip.
 */
const withPlainBody =
  <Args extends { request: unknown }, Result>(next: (args: Args) => Promise<Result>) =>
  (args: Args): Promise<Result> => {
    const { headers } = args.request as { headers: Record<string, string> };
    headers['x-amz-content-sha256'] = 'UNSIGNED-PAYLOAD';
    delete headers['Expect'];
    return next(args);
  };

/** Content of the part that identifies a job's upload: a listing shows keys and parts, but no metadata. */
export function uploadMarkOf(jobKey: string): Buffer {
  return createHash('sha256').update(`fileconv ${jobKey}`).digest();
}

/** Aborts the uploads left by any attempt of the job in a folder, or under any name that `rename` derived. */
export async function discardUploads(client: S3Client, place: ObjectPlace, jobKey: string): Promise<void> {
  const { bucket: Bucket } = place;
  const Prefix = isFolder(place) ? place.key : place.key.replace(/\.[^./]*$/, '');
  const mark = uploadMarkOf(jobKey);
  const checksum = createHash('sha256').update(mark).digest('base64');
  const etag = createHash('md5').update(mark).digest('hex');
  let page: { KeyMarker?: string | undefined; UploadIdMarker?: string | undefined } | undefined = {};
  while (page) {
    const list: ListMultipartUploadsCommand = new ListMultipartUploadsCommand({ Bucket, Prefix, ...page });
    const { Uploads = [], IsTruncated, NextKeyMarker, NextUploadIdMarker } = await client.send(list);
    for (const upload of Uploads) if (await isMarked(upload)) await abort(upload);
    page = IsTruncated ? { KeyMarker: NextKeyMarker, UploadIdMarker: NextUploadIdMarker } : undefined;
  }

  async function isMarked({ Key, UploadId }: MultipartUpload): Promise<boolean> {
    const list = new ListPartsCommand({ Bucket, Key, UploadId, PartNumberMarker: String(markNumber - 1) });
    const { Parts: [part] = [] } = (await unlessGone(client.send(list))) ?? {};
    return part?.ChecksumSHA256 === checksum || part?.ETag?.replaceAll('"', '') === etag;
  }

  async function abort({ Key, UploadId }: MultipartUpload): Promise<void> {
    await unlessGone(client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId })));
  }
}

/** Another attempt may abort or complete the upload concurrently. */
async function unlessGone<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (answerOf(error).name === 'NoSuchUpload') return undefined;
    throw error;
  }
}
