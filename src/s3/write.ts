import { randomUUID } from 'node:crypto';
import type { S3Client } from '@aws-sdk/client-s3';
import { whenAllowed } from '../storage/commit';
import { alreadyExists, cannotWrite } from '../storage/errors';
import { numberName } from '../storage/file-name';
import type { StoredFile, WriteDestinationOptions } from '../storage/file-store';
import { contentOf, type Content } from '../storage/source';
import { receive, withBody } from '../storage/write';
import { answerOf, destinationFailureOf, isRefusedByCondition, asStorageErrors } from './errors';
import { findObject, readObject } from './objects';
import { keyFolderOf, keyNameOf, toObjectUri, toPlace, type ObjectPlace } from './object-uri';
import { maxStreamedBytes, StreamedUpload } from './streamed-upload';
import {
  discardUploads,
  minPartBytes,
  uploadMarkOf,
  UploadInParts,
  type Upload,
  type ObjectUploadOptions,
} from './upload';

const maxNumber = 9_999;
/** Metadata with the id of the write that made the object. A request that is repeated after a lost response recognizes its own object. */
const writeKey = 'fileconv-write';

interface Write extends WriteDestinationOptions {
  readonly client: S3Client;
  readonly place: ObjectPlace;
  readonly upload: Upload;
  readonly id: string;
}

/** Streams to one object. S3 itself never shows an incomplete object under its name. */
export function writeObject(client: S3Client, options: WriteDestinationOptions): Promise<StoredFile> {
  const { uri, jobKey, attempt, expectedSize } = options;
  return withBody(options, async (body) => {
    const place = toPlace(uri);
    const id = randomUUID();
    const ifFree = options.onExisting !== 'overwrite';
    const upload = begin({ client, mark: uploadMarkOf(jobKey), metadata: { [writeKey]: id }, expectedSize, ifFree });
    const write = { ...options, client, place, upload, id };
    try {
      if (attempt > 1) await asStorageErrors(uri, discardUploads(client, place, jobKey));
      const content = await receive(body, { ...options, store: (chunks) => asStorageErrors(uri, add(write, chunks)) });
      await asStorageErrors(uri, upload.finish());
      const taken = await commit(write, content);
      return taken ? stored(taken, content, false) : stored(place, await contentOf(readObject(client, place)), true);
    } finally {
      await upload.discard();
    }
  });
}

/** Small files are buffered and can be sent again; a single streamed request has to know its size. */
function begin(options: ObjectUploadOptions): Upload {
  const { expectedSize = 0 } = options;
  const isStreamed = expectedSize > minPartBytes && expectedSize <= maxStreamedBytes;
  return isStreamed ? new StreamedUpload(options) : new UploadInParts(options);
}

function stored(place: ObjectPlace, content: Content, skipped: boolean): StoredFile {
  return { uri: toObjectUri(place), name: keyNameOf(place), ...content, skipped };
}

async function add(write: Write, chunks: readonly Buffer[]): Promise<void> {
  for (const chunk of chunks) await write.upload.add(chunk, () => firstFree(write));
}

/** Called once the bytes exceed one part, since the upload is then bound to its key. */
async function firstFree({ client, place, onExisting }: Write): Promise<ObjectPlace> {
  for (let number = 0; onExisting === 'rename' && number <= maxNumber; number += 1) {
    const candidate = numbered(place, number);
    if (!(await findObject(client, candidate))) return candidate;
  }
  return place;
}

/** Makes the bytes an object; undefined if the policy is `skip` and the name is taken. */
async function commit(write: Write, content: Content): Promise<ObjectPlace | undefined> {
  const { client, place, upload, uri, onExisting, attempt } = write;
  for (let number = 0; number <= maxNumber; number += 1) {
    const candidate = numbered(place, number);
    const isBoundElsewhere = upload.place !== undefined && upload.place.key !== candidate.key;
    const isTaken =
      onExisting === 'rename' && (await asStorageErrors(uri, findObject(client, candidate))) !== undefined;
    if (!isBoundElsewhere && !isTaken && (await claim(write, candidate))) return candidate;
    if (attempt > 1 && (await asStorageErrors(uri, holds(client, candidate, content)))) return candidate;
    if (onExisting === 'skip') return undefined;
    if (onExisting !== 'rename') break;
    if (upload.place?.key === candidate.key) {
      const why = 'another file has taken its name while the bytes came; the next attempt takes another name.';
      throw cannotWrite(uri, { code: 'STORAGE_FAILED', why, retryable: true });
    }
  }
  throw alreadyExists(uri);
}

/** Returns false if the name is taken by an object of another write. */
async function claim(write: Write, candidate: ObjectPlace): Promise<boolean> {
  const { client, upload, uri, id } = write;
  return whenAllowed(write, async () => {
    try {
      await upload.commit(candidate);
      return true;
    } catch (error) {
      if (!leavesDoubt(error)) throw destinationFailureOf(error, uri);
      const existing = await asStorageErrors(uri, findObject(client, candidate));
      if (existing?.metadata[writeKey] === id) return true;
      if (isRefusedByCondition(error)) return false;
      throw destinationFailureOf(error, uri);
    }
  });
}

/** The object may exist: the request was sent before, or its response is lost. */
function leavesDoubt(error: unknown): boolean {
  const { name, status } = answerOf(error);
  return status === undefined || name === 'NoSuchUpload' || isRefusedByCondition(error);
}

async function holds(client: S3Client, place: ObjectPlace, { bytes, sha256 }: Content): Promise<boolean> {
  const object = await findObject(client, place);
  return object?.found.bytes === bytes && (await contentOf(readObject(client, place))).sha256 === sha256;
}

function numbered(place: ObjectPlace, number: number): ObjectPlace {
  return number === 0 ? place : { ...place, key: keyFolderOf(place) + numberName(keyNameOf(place), number) };
}
