import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { StorageError, destinationFailure, systemCode } from './errors';
import { toPath } from './file-uri';

/** Size and SHA-256 of a file; undefined if it does not exist. */
export async function describeFile(uri: string): Promise<{ bytes: number; sha256: string } | undefined> {
  const filePath = toPath(uri);
  const hash = createHash('sha256');
  let bytes = 0;
  try {
    const stream = createReadStream(filePath, { highWaterMark: 512 * 1024 });
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      hash.update(chunk);
      bytes += chunk.length;
    }
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    if (systemCode(error) === 'EISDIR') {
      throw new StorageError({
        code: 'DESTINATION_IS_DIRECTORY',
        message: `Cannot read ${uri}: it is a folder.`,
        uri,
        cause: error,
      });
    }
    throw destinationFailure(error, uri);
  }
  return { bytes, sha256: hash.digest('hex') };
}
