import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileSize } from 'temporal-file-conversion/internal/shared/wording';
import { CommandError } from '../command-error';

interface SpoolOptions {
  /** The most that the service takes, if that is known. */
  maxBytes: number | undefined;
  signal: AbortSignal;
}

/**
 * Writes standard input to a new file, which only this user may read, and to the disk.
 * @returns its SHA-256.
 * @throws CommandError when there is nothing, or more than the service takes.
 */
export async function spool(
  stdin: Readable,
  file: string,
  { maxBytes = Infinity, signal }: SpoolOptions,
): Promise<string> {
  const hash = createHash('sha256');
  let bytes = 0;
  async function* measured(chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > maxBytes) {
        const limit = `${fileSize(maxBytes)} (${maxBytes} bytes)`;
        throw unusable(`is larger than the service takes: ${limit}, max_upload_bytes of [service].`);
      }
      hash.update(chunk);
      yield chunk;
    }
  }
  await pipeline(stdin, measured, createWriteStream(file, { flags: 'wx', mode: 0o600, flush: true }), { signal });
  if (bytes === 0) throw unusable('is empty. There is nothing to convert.');
  return hash.digest('hex');
}

function unusable(problem: string): CommandError {
  return new CommandError('INPUT_UNUSABLE', [`standard input ${problem}`]);
}
