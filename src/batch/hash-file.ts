import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { systemErrorCode } from '../shared/system-error';

/** Size and SHA-256 of a file; undefined when it can't be read. */
export async function hashFile(
  file: string,
  signal?: AbortSignal,
): Promise<{ bytes: number; sha256: string } | undefined> {
  const hash = createHash('sha256');
  const stream = createReadStream(file, { highWaterMark: 512 * 1024 });
  try {
    await pipeline(stream, hash, { ...(signal && { signal }) });
    return { bytes: stream.bytesRead, sha256: hash.digest('hex') };
  } catch (error) {
    signal?.throwIfAborted();
    if (systemErrorCode(error) === undefined) throw error;
    return undefined;
  }
}
