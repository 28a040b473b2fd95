/** The store for `s3:` URIs: AWS, and servers that speak its API. Needs the package `@aws-sdk/client-s3`. */
import { DeleteObjectCommand, DeleteObjectsCommand, S3Client } from '@aws-sdk/client-s3';
import { StorageError, cannotRead } from '../storage/errors';
import type { FileStore, SourceFile } from '../storage/file-store';
import { createPlanner } from './destination';
import { answerOf, destinationFailureOf, sourceFailureOf } from './errors';
import { discardUploads } from './leftovers';
import { look, readObject, seeObject } from './objects';
import { isFolder, nameOf, toPlace, type ObjectPlace } from './object-uri';
import { walkObjects } from './walk';
import { writeObject } from './write';

export interface S3FilesOptions {
  /** Base URL of the server. Default: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, else AWS. */
  endpoint?: string | undefined;
  /** Default: AWS_REGION, or that of the profile. */
  region?: string | undefined;
  /** Whether the bucket stands in the path of a URL and not in its host name. Default: with `endpoint`. */
  pathStyle?: boolean | undefined;
  /** Replaces all of these, for example to give credentials. Default: those of the provider's own chain. */
  client?: S3Client;
}

/** As many as a worker's activities may need at once; the SDK's 50 would have uploads wait for long downloads. */
const agent = { keepAlive: true, maxSockets: 500 };
/** With the time to connect, and the time without a byte. */
const requestHandler = { connectionTimeout: 10_000, socketTimeout: 60_000, httpAgent: agent, httpsAgent: agent };
const ignore = (): void => undefined;
/** The SDK would tell the terminal of every stream that failed; the failure itself says more. */
const logger = { trace: ignore, debug: ignore, info: ignore, warn: ignore, error: ignore };
const removedAtOnce = 1_000;

export function createS3Files({ endpoint, region, pathStyle, client: own }: S3FilesOptions = {}): FileStore {
  const client =
    own ??
    new S3Client({
      ...(endpoint !== undefined && { endpoint }),
      ...(region !== undefined && { region }),
      forcePathStyle: pathStyle ?? endpoint !== undefined,
      requestHandler,
      logger,
    });
  return {
    openSource: (uri) => openSource(client, uri),
    prepareDestination: createPlanner(client),
    writeDestination: (options) => writeObject(client, options),
    async discardPartial({ uri, jobKey }) {
      const place = toPlace(uri);
      try {
        await discardUploads(client, place, jobKey);
      } catch (error) {
        throw destinationFailureOf(error, uri);
      }
    },
    look: async (uri) => look(client, toPlace(uri)),
    read: (uri, options) => readObject(client, toPlace(uri), options),
    walk: (folder, options) => walkObjects(client, toPlace(folder), options),
    async remove(uri) {
      const place = toPlace(uri);
      try {
        await (isFolder(place) ? removeBelow(client, place) : removeOne(client, place));
      } catch (error) {
        throw destinationFailureOf(error, uri);
      }
    },
  };
}

async function openSource(client: S3Client, uri: string): Promise<SourceFile> {
  const place = toPlace(uri);
  if (isFolder(place)) throw cannotRead(uri, { code: 'SOURCE_IS_DIRECTORY', why: 'it is a folder; name an object.' });
  try {
    const { found, etag } = await seeObject(client, place);
    const { bytes: size, stamp } = found;
    if (size === 0) {
      throw new StorageError({ code: 'SOURCE_EMPTY', message: `Cannot convert ${uri}: the file is empty.`, uri });
    }
    return { uri, name: nameOf(place), size, stamp, open: () => readObject(client, place, { etag }) };
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
