import { ListObjectsV2Command, type S3Client } from '@aws-sdk/client-s3';
import type { WalkedFile, WalkOptions } from '../storage/file-store';
import { sourceFailureOf } from './errors';
import { toFound } from './objects';
import { toObjectUri, type ObjectPlace } from './object-uri';

/** Follows everything that begins with a prefix. */
const afterAll = '\u{10ffff}';

/** The objects below a prefix, by pages of their listing; whole folders that are not entered are skipped. */
export async function* walkObjects(
  client: S3Client,
  { bucket, key: prefix }: ObjectPlace,
  { maxDepth = Infinity, enters = () => true, signal }: WalkOptions = {},
): AsyncGenerator<WalkedFile> {
  const isEntered = createGate(maxDepth, enters);
  let next: { StartAfter?: string; ContinuationToken?: string | undefined } | undefined = {};
  while (next) {
    const { Contents = [], IsTruncated = false, NextContinuationToken } = await list(next);
    let declined: string | undefined;
    for (const object of Contents) {
      const key = object.Key ?? '';
      if (declined !== undefined && key.startsWith(declined)) continue;
      const relative = key.slice(prefix.length);
      // Consoles make empty objects that stand for folders.
      if (relative === '' || relative.endsWith('/')) continue;
      const refused = await isEntered(relative);
      declined = refused === undefined ? undefined : prefix + refused;
      if (declined !== undefined) continue;
      const place = { bucket, key };
      yield { uri: toObjectUri(place), relative, found: toFound(place, object) };
    }
    const further =
      declined === undefined ? { ContinuationToken: NextContinuationToken } : { StartAfter: declined + afterAll };
    next = IsTruncated ? further : undefined;
  }

  async function list(from: { StartAfter?: string; ContinuationToken?: string | undefined }) {
    try {
      const asked = { Bucket: bucket, Prefix: prefix, ...from, ...(maxDepth === 1 && { Delimiter: '/' }) };
      return await client.send(new ListObjectsV2Command(asked), signal ? { abortSignal: signal } : {});
    } catch (error) {
      signal?.throwIfAborted();
      throw sourceFailureOf(error, toObjectUri({ bucket, key: prefix }));
    }
  }
}

/** Asks once about each folder on the way to a file; a listing is sorted, so the last path is all to remember. */
function createGate(maxDepth: number, enters: NonNullable<WalkOptions['enters']>) {
  let entered: string[] = [];
  /** The first folder that is not entered, with its slash. */
  return async (relative: string): Promise<string | undefined> => {
    const parts = relative.split('/').slice(0, -1);
    const folders = parts.map((_part, index) => parts.slice(0, index + 1).join('/'));
    for (const [depth, folder] of folders.entries()) {
      if (entered[depth] === folder) continue;
      entered = entered.slice(0, depth);
      if (depth + 1 >= maxDepth || !(await enters(folder))) return `${folder}/`;
      entered.push(folder);
    }
    return undefined;
  };
}
