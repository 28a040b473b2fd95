import { DeleteObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { cannotUse } from '../storage/errors';
import type { FileStore, Moved, MoveOptions } from '../storage/file-store';
import { moveByCopy } from '../storage/move';
import { destinationFailureOf, isMissing, isRefusedByCondition } from './errors';
import { toPlace, type ObjectPlace } from './object-uri';

/** Copies an object, and deletes it on the condition that it is still the same. */
export function createMover(client: S3Client): (options: MoveOptions, store: FileStore) => Promise<Moved> {
  /** Buckets whose server heeds the condition. */
  const proven = new Set<string>();

  return (options, store) =>
    moveByCopy(options, store, async () => {
      const { uri, to, stamp } = options;
      try {
        await prove(toPlace(to));
        return await deleteIf(toPlace(uri), stamp.slice(0, stamp.lastIndexOf('@')));
      } catch (error) {
        throw destinationFailureOf(error, uri);
      }
    });

  /** A server that ignores the condition would delete what somebody has just put there: tried on the copy, while there are two. */
  async function prove(copy: ObjectPlace): Promise<void> {
    const { bucket } = copy;
    if (proven.has(bucket)) return;
    if (await deleteIf(copy, '"0"')) {
      const why = 'its server deletes without conditions, so nothing can be moved safely. Leave sources where they are';
      throw cannotUse(`s3://${bucket}/`, why);
    }
    proven.add(bucket);
  }

  /** Returns false if it is another object by now, or gone. */
  async function deleteIf({ bucket: Bucket, key: Key }: ObjectPlace, IfMatch: string): Promise<boolean> {
    try {
      await client.send(new DeleteObjectCommand({ Bucket, Key, IfMatch }));
      return true;
    } catch (error) {
      if (isRefusedByCondition(error) || isMissing(error)) return false;
      throw error;
    }
  }
}
