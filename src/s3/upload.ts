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

/** The least that S3 accepts of a part that is not the last one. */
export const leastPartBytes = 5 * 1024 * 1024;
const mostParts = 9_999;
const partsAtATime = 4;
/** For requests under way when their upload is given up. */
const sendingGraceMs = 5_000;
/** Beyond the parts that become the object, which do not include this one. */
const markNumber = 10_000;

export interface ObjectUploadOptions {
  readonly client: S3Client;
  /** A part that shows whose upload it is to `discardUploads`. */
  readonly mark: Buffer;
  readonly metadata: Record<string, string>;
  readonly expectedSize: number | undefined;
  /** The name must not be taken. */
  readonly ifFree: boolean;
}

/** The bytes on their way. */
export interface Upload {
  /** The key is decided: the bytes cannot become another object. */
  readonly place: ObjectPlace | undefined;
  /** `choosePlace` is asked when the key has to be decided. */
  add(chunk: Buffer, choosePlace: () => Promise<ObjectPlace>): Promise<void>;
  /** All bytes have come; resolves when no more than `commit` is left. */
  finish(): Promise<void>;
  /** Makes the bytes an object, whole; fails with status 412 if the name is taken and must not be. */
  commit(place: ObjectPlace): Promise<void>;
  /** Leaves nothing at the server. Never throws: the outcome is settled, and `discardUploads` finds what is left. */
  discard(): Promise<void>;
}

/** One request at the end if the bytes fit into a part, else a multipart upload. */
export class UploadInParts implements Upload {
  readonly #options: ObjectUploadOptions;
  readonly #partBytes: number;
  readonly #ending = new AbortController();
  readonly #parts: { PartNumber: number; ETag: string | undefined; ChecksumSHA256: string }[] = [];
  readonly #sending = new Set<Promise<void>>();
  /** Each part is a large buffer: taken again, so that memory does not depend on the garbage collector. */
  readonly #free: Buffer[] = [];
  #started: { readonly place: ObjectPlace; readonly id: string } | undefined;
  #adding: Promise<void> | undefined;
  #buffer: Buffer | undefined;
  #filled = 0;
  #sent = 0;

  constructor(options: ObjectUploadOptions) {
    this.#options = options;
    this.#partBytes = Math.max(leastPartBytes, Math.ceil((options.expectedSize ?? 0) / mostParts));
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
    // A part that the server still takes when its upload ends would stay, and cutting the connection does not stop the server.
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
    // Given up before the server has answered.
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
    // Who waits next learns of it.
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

  /** No more than is to come: 50 small files at a time should take little memory. */
  #nextBytes(): number {
    const { expectedSize } = this.#options;
    return expectedSize === undefined || this.#started ? this.#partBytes : Math.min(expectedSize, this.#partBytes) || 1;
  }
}

/** Hashed beside the main thread, which hashes the whole file at the same time. */
async function content(Body: Buffer) {
  const digest = await webcrypto.subtle.digest('SHA-256', Body);
  return { Body, ContentLength: Body.length, ChecksumSHA256: Buffer.from(digest).toString('base64') };
}

const afterOthers = { step: 'build', priority: 'low' } as const;

/**
 * The server checks the bytes by their SHA-256, which the signature covers: to sign the bytes too is to hash them again.
 * Nor is a round trip spent on the question whether they may come.
 */
const withPlainBody =
  <Args extends { request: unknown }, Result>(next: (args: Args) => Promise<Result>) =>
  (args: Args): Promise<Result> => {
    const { headers } = args.request as { headers: Record<string, string> };
    headers['x-amz-content-sha256'] = 'UNSIGNED-PAYLOAD';
    delete headers['Expect'];
    return next(args);
  };

/** The content of the part that shows whose upload it is: a listing tells keys and parts, but nothing of one's own. */
export function uploadMarkOf(jobKey: string): Buffer {
  return createHash('sha256').update(`fileconv ${jobKey}`).digest();
}

/** Ends the uploads that any attempt of the job has left in a folder, or under any name that `rename` made of one. */
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

/** Another attempt may end or finish an upload at the same time. */
async function unlessGone<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (answerOf(error).name === 'NoSuchUpload') return undefined;
    throw error;
  }
}
