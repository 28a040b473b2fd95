import { UploadPartCommand, type S3Client } from '@aws-sdk/client-s3';
import { alreadyExists, isItsSource } from '../storage/errors';
import { makeSafeName } from '../storage/file-name';
import type { DestinationPlan, FileStore } from '../storage/file-store';
import { answerOf, destinationFailureOf } from './errors';
import { findObject } from './objects';
import { folderOf, isFolder, toObjectUri, toPlace, type ObjectPlace } from './object-uri';

const mostProven = 1_000;

/** Determines the key of outputs and checks, without writing anything, that they can be written. */
export function createPlanner(client: S3Client): FileStore['prepareDestination'] {
  /** Folders in which this worker may write, so that not every job asks. */
  const proven = new Set<string>();

  return async ({ uri: asked, suggestedName, onExisting, attempt = 1, source }): Promise<DestinationPlan> => {
    const named = toPlace(asked);
    const place = isFolder(named) ? { ...named, key: named.key + makeSafeName(suggestedName) } : named;
    const uri = toObjectUri(place);
    if (source !== undefined && toObjectUri(toPlace(source)) === uri) throw isItsSource(uri);
    try {
      await prove(place);
      // A later attempt may have been here before: what stands there is looked at when the bytes are known.
      if (attempt > 1 || onExisting === 'overwrite' || onExisting === 'rename') return { kind: 'write', uri };
      if (!(await findObject(client, place))) return { kind: 'write', uri };
    } catch (error) {
      throw destinationFailureOf(error, uri);
    }
    if (onExisting === 'fail') throw alreadyExists(uri);
    return { kind: 'skip', uri };
  };

  /** A part of an upload that does not exist is refused by whoever may write, and otherwise forbidden. */
  async function prove(place: ObjectPlace): Promise<void> {
    const folder = `${place.bucket}/${folderOf(place)}`;
    if (proven.has(folder)) return;
    const { bucket: Bucket, key: Key } = place;
    try {
      await client.send(new UploadPartCommand({ Bucket, Key, UploadId: 'none', PartNumber: 1, Body: Buffer.alloc(0) }));
    } catch (error) {
      if (answerOf(error).name !== 'NoSuchUpload') throw error;
    }
    if (proven.size === mostProven) proven.clear();
    proven.add(folder);
  }
}
