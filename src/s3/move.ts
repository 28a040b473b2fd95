import { randomUUID } from 'node:crypto';
import { DeleteObjectCommand, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { cannotUse } from '../storage/errors';
import type { FileStore, Moved, MoveOptions } from '../storage/file-store';
import { moveByCopy } from '../storage/move';
import { answerOf, isRefusedByCondition, sourceFailureOf } from './errors';
import { keyFolderOf, toPlace, type ObjectPlace } from './object-uri';

/** Copies an object, and deletes it on the condition that it is still the same. */
export function createMover(client: S3Client): (options: MoveOptions, store: FileStore) => Promise<Moved> {
  /** Buckets whose server heeds the condition. */
  const proven = new Set<string>();

  return (options, store) =>
    moveByCopy(options, store, async () => {
      const { uri, stamp } = options;
      const place = toPlace(uri);
      try {
        await prove(place);
        return await deleteIf(place, stamp.slice(0, stamp.lastIndexOf('@')));
      } catch (error) {
        throw sourceFailureOf(error, uri);
      }
    });

  /** A server that ignores the condition would delete what somebody has just put there: tried on an object of our own. */
  async function prove(place: ObjectPlace): Promise<void> {
    const { bucket: Bucket } = place;
    if (proven.has(Bucket)) return;
    const own = { bucket: Bucket, key: `${keyFolderOf(place)}.fileconv/${randomUUID()}` };
    await client.send(new PutObjectCommand({ Bucket, Key: own.key, Body: 'x', ContentLength: 1 }));
    if (await deleteIf(own, '"0"')) {
      throw cannotUse(
        `s3://${Bucket}/`,
        'its server deletes without conditions, so nothing can be moved safely. Leave sources where they are',
      );
    }
    await client.send(new DeleteObjectCommand({ Bucket, Key: own.key }));
    proven.add(Bucket);
  }

  /** Returns false if it is another object by now. */
  async function deleteIf({ bucket: Bucket, key: Key }: ObjectPlace, IfMatch: string): Promise<boolean> {
    try {
      await client.send(new DeleteObjectCommand({ Bucket, Key, IfMatch }));
      return true;
    } catch (error) {
      // An answer that was lost on the way: it is gone.
      if (answerOf(error).name === 'NoSuchKey') return true;
      if (isRefusedByCondition(error)) return false;
      throw error;
    }
  }
}
