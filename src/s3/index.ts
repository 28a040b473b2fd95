/** Options of the store for `s3:` URIs: AWS, and servers with the same API. Needs the package `@aws-sdk/client-s3`. */
import { HttpsProxyAgent } from 'https-proxy-agent';
import { DeleteObjectCommand, DeleteObjectsCommand, S3Client, UploadPartCommand } from '@aws-sdk/client-s3';
import { proxyFor } from '../network/proxy';
import { alreadyExists, cannotRead, isEmpty, isItsSource } from '../storage/errors';
import { makeSafeName } from '../storage/file-name';
import type { DestinationPlan, FileStore, SourceFile } from '../storage/file-store';
import { answerOf, destinationFailureOf, sourceFailureOf, asStorageErrors } from './errors';
import { findObject, look, readObject, seeObject, walkObjects } from './objects';
import { keyFolderOf, isFolder, keyNameOf, toObjectUri, toPlace, type ObjectPlace } from './object-uri';
import { createMover } from './move';
import { discardUploads } from './upload';
import { writeObject } from './write';

export interface S3FilesOptions {
  /** Base URL of the server. Default: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, else AWS. */
  endpoint?: string | undefined;
  /** Default: AWS_REGION, or the region of the profile. */
  region?: string | undefined;
  /** Whether URLs have the bucket in the path instead of the host name. Default: true if `endpoint` is set. */
  pathStyle?: boolean | undefined;
  /** Replaces all other options, for example to pass credentials. Default: a client with the provider's credential chain. */
  client?: S3Client;
}

/** Enough for all activities of a worker: with the SDK's 50, uploads would wait for long downloads. */
const agent = { keepAlive: true, maxSockets: 500 };
const awsUrl = 'https://s3.amazonaws.com';

function requestHandlerFor(endpoint: string) {
  const proxy = URL.canParse(endpoint) ? proxyFor(new URL(endpoint)) : undefined;
  const either = proxy ? new HttpsProxyAgent(proxy, agent) : agent;
  return { connectionTimeout: 10_000, socketTimeout: 60_000, httpAgent: either, httpsAgent: either };
}

const ignore = (): void => undefined;
/** The SDK would print every failed stream to the terminal; the failure itself says more. */
const logger = { trace: ignore, debug: ignore, info: ignore, warn: ignore, error: ignore };
const removedAtOnce = 1_000;

export function createS3Files({ endpoint, region, pathStyle, client: own }: S3FilesOptions = {}): FileStore {
  const client =
    own ??
    new S3Client({
      ...(endpoint !== undefined && { endpoint }),
      ...(region && { region }),
      forcePathStyle: pathStyle ?? endpoint !== undefined,
      requestHandler: requestHandlerFor(endpoint ?? awsUrl),
      logger,
    });
  const move = createMover(client);
  const store: FileStore = {
    openSource: (uri) => openSource(client, uri),
    prepareDestination: createPlanner(client),
    writeDestination: (options) => writeObject(client, options),
    discardPartial: async ({ uri, jobKey }) => asStorageErrors(uri, discardUploads(client, toPlace(uri), jobKey)),
    look: async (uri) => look(client, toPlace(uri)),
    read: (uri, options) => readObject(client, toPlace(uri), options),
    walk: (folder, options) => walkObjects(client, toPlace(folder), options),
    async remove(uri) {
      const place = toPlace(uri);
      await asStorageErrors(uri, isFolder(place) ? removeBelow(client, place) : removeOne(client, place));
    },
    move: (options) => move(options, store),
  };
  return store;
}

async function openSource(client: S3Client, uri: string): Promise<SourceFile> {
  const place = toPlace(uri);
  if (isFolder(place)) throw cannotRead(uri, { code: 'SOURCE_IS_DIRECTORY', why: 'it is a folder; name an object.' });
  try {
    const { found, etag } = await seeObject(client, place);
    const { bytes: size, stamp } = found;
    if (size === 0) throw isEmpty(uri);
    return { uri, name: keyNameOf(place), size, stamp, open: () => readObject(client, place, { etag }) };
  } catch (error) {
    throw sourceFailureOf(error, uri);
  }
}

async function removeOne(client: S3Client, { bucket: Bucket, key: Key }: ObjectPlace): Promise<void> {
  try {
    await client.send(new DeleteObjectCommand({ Bucket, Key }));
  } catch (error) {
    if (answerOf(error).name !== 'NoSuchKey') throw error;
  }
}

async function removeBelow(client: S3Client, folder: ObjectPlace): Promise<void> {
  let keys: { Key: string }[] = [];
  const remove = async () => {
    const asked = { Bucket: folder.bucket, Delete: { Objects: keys, Quiet: true } };
    const { Errors: [refused] = [] } = await client.send(new DeleteObjectsCommand(asked));
    if (refused) throw Object.assign(new Error(refused.Message), { name: refused.Code });
    keys = [];
  };
  for await (const { uri } of walkObjects(client, folder)) {
    keys.push({ Key: toPlace(uri).key });
    if (keys.length === removedAtOnce) await remove();
  }
  if (keys.length > 0) await remove();
}

const maxProven = 1_000;

/** Determines the key of a result and checks, without writing anything, that it can be written. */
function createPlanner(client: S3Client): FileStore['prepareDestination'] {
  /** Folders already proven writable by this worker, so that not every job has to check. */
  const proven = new Set<string>();

  return async ({ uri: asked, suggestedName, onExisting, attempt = 1, source }): Promise<DestinationPlan> => {
    const named = toPlace(asked);
    const place = isFolder(named) ? { ...named, key: named.key + makeSafeName(suggestedName) } : named;
    const uri = toObjectUri(place);
    if (source !== undefined && toObjectUri(toPlace(source)) === uri) throw isItsSource(uri);
    try {
      await prove(place);
      // An earlier attempt may have written the object; it is compared once the bytes are known.
      if (attempt > 1 || onExisting === 'overwrite') return { kind: 'write', uri };
      // The free name is only chosen at the end; this checks that listing is permitted.
      const isFree = !(await findObject(client, place));
      if (isFree || onExisting === 'rename') return { kind: 'write', uri };
    } catch (error) {
      throw destinationFailureOf(error, uri);
    }
    if (onExisting === 'fail') throw alreadyExists(uri);
    return { kind: 'skip', uri };
  };

  /** Uploading a part to a nonexistent upload fails with `NoSuchUpload` for writers, and is forbidden for others. */
  async function prove(place: ObjectPlace): Promise<void> {
    const folder = `${place.bucket}/${keyFolderOf(place)}`;
    if (proven.has(folder)) return;
    const { bucket: Bucket, key: Key } = place;
    try {
      await client.send(new UploadPartCommand({ Bucket, Key, UploadId: 'none', PartNumber: 1, Body: Buffer.alloc(0) }));
    } catch (error) {
      if (answerOf(error).name !== 'NoSuchUpload') throw error;
    }
    if (proven.size === maxProven) proven.clear();
    proven.add(folder);
  }
}
