import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import type { SourceContent } from '../shared/job';
import { systemErrorCode } from '../shared/system-error';
import { look } from './plan/look';

/** Size and SHA-256 of a file; undefined if it cannot be read. */
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

/** The file's current content if it equals `content`, else undefined. The file is read only if its stamp differs. */
export async function sameContent(
  file: string,
  content: SourceContent,
  signal?: AbortSignal,
): Promise<SourceContent | undefined> {
  const before = await look(file);
  if (before.kind !== 'file' || before.bytes !== content.bytes) return undefined;
  const { stamp } = before;
  if (content.stamp === stamp) return content;
  if ((await hashFile(file, signal))?.sha256 !== content.sha256) return undefined;
  const after = await look(file);
  return after.kind === 'file' && after.stamp === stamp ? { ...content, stamp } : undefined;
}
