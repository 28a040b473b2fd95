import { PassThrough } from 'node:stream';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { isRefusedByCondition, refusedByCondition } from './errors';
import { findObject } from './objects';
import type { ObjectPlace } from './object-uri';
import type { Upload, ObjectUploadOptions } from './upload';

/** Maximum size that S3 accepts in one request. */
export const maxStreamedBytes = 5 * 1024 ** 3;
/** The SDK frames each chunk as it arrives, and S3 refuses frames below 8 KiB, except the last. */
const minFrameBytes = 64 * 1024;

/**
 * Sends the bytes in one request as they come. The last bytes are held back until `commit`, and a request that ends without them leaves
 * nothing. The SDK does not retry it, since the bytes are gone by then.
 */
export class StreamedUpload implements Upload {
  readonly #options: ObjectUploadOptions;
  /** Large enough to keep the connection busy while a large chunk is read and hashed. */
  readonly #body = new PassThrough({ highWaterMark: 4 * 1024 * 1024 });
  readonly #ending = new AbortController();
  #started: { readonly place: ObjectPlace; readonly answer: Promise<void> } | undefined;
  #held: Buffer[] = [];
  #heldBytes = 0;
  #failure: Error | undefined;
  #resume: () => void = () => undefined;

  constructor(options: ObjectUploadOptions) {
    this.#options = options;
  }

  get place(): ObjectPlace | undefined {
    return this.#started?.place;
  }

  async add(chunk: Buffer, choosePlace: () => Promise<ObjectPlace>): Promise<void> {
    this.#started ??= await this.#start(await choosePlace());
    if (this.#heldBytes >= minFrameBytes) await this.#send(this.#takeHeld());
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    // A taken name is left to `commit`: only with all bytes can the caller tell whose object it is.
    if (this.#failure && !isRefusedByCondition(this.#failure)) throw this.#failure;
  }

  finish(): Promise<void> {
    return Promise.resolve();
  }

  async commit(): Promise<void> {
    if (!this.#failure) this.#body.end(this.#takeHeld());
    await this.#started?.answer;
  }

  async discard(): Promise<void> {
    this.#ending.abort();
    await this.#started?.answer.catch(() => undefined);
  }

  #takeHeld(): Buffer {
    const [first = Buffer.alloc(0), ...others] = this.#held.splice(0);
    this.#heldBytes = 0;
    return others.length === 0 ? first : Buffer.concat([first, ...others]);
  }

  async #start(place: ObjectPlace): Promise<{ place: ObjectPlace; answer: Promise<void> }> {
    const { client, ifFree } = this.#options;
    // Check first: a server that refuses during the upload may cut the connection before its response is read.
    const isTaken = ifFree && (await findObject(client, place)) !== undefined;
    const answer = isTaken ? Promise.reject(refusedByCondition()) : this.#put(place);
    answer.catch((error: unknown) => {
      this.#failure = error as Error;
      // The request has ended and no longer reads the body.
      this.#body.destroy();
      this.#resume();
    });
    return { place, answer };
  }

  async #put({ bucket: Bucket, key: Key }: ObjectPlace): Promise<void> {
    const { client, metadata: Metadata, expectedSize: ContentLength, ifFree } = this.#options;
    const content = { Body: this.#body, ContentLength, ChecksumAlgorithm: 'SHA256' } as const;
    const put = new PutObjectCommand({ Bucket, Key, ...content, Metadata, ...(ifFree && { IfNoneMatch: '*' }) });
    await client.send(put, { abortSignal: this.#ending.signal });
  }

  async #send(bytes: Buffer): Promise<void> {
    if (this.#failure) return;
    await new Promise<void>((resolve) => {
      this.#resume = resolve;
      this.#body.write(bytes, () => resolve());
    });
  }
}
