import { DeleteObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { cannotUse } from '../storage/errors';
import type { FileStore, Moved, MoveOptions } from '../storage/file-store';
import { moveByCopy } from '../storage/move';
import { destinationFailureOf, isMissing, isRefusedByCondition } from './errors';
import { toPlace, type ObjectPlace } from './object-uri';

/** Copies an object, then deletes the original if it is unchanged. */
export function createMover(client: S3Client): (options: MoveOptions, store: FileStore) => Promise<Moved> {
  /** Buckets whose server is known to respect the condition. */
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

  /** A server that ignores the condition could delete a newer object. Tried on the copy, while the original still exists. */
  async function prove(copy: ObjectPlace): Promise<void> {
    const { bucket } = copy;
    if (proven.has(bucket)) return;
    if (await deleteIf(copy, '"0"')) {
      const why = 'its server deletes without conditions, so nothing can be moved safely. Leave sources where they are';
      throw cannotUse(`s3://${bucket}/`, why);
    }
    proven.add(bucket);
  }

  /** Returns false if the object has changed or is gone. */
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
