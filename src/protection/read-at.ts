/** Reads `length` bytes of a file from `start`; fewer only at its end. */
export type ReadAt = (start: number, length: number) => Promise<Buffer>;

const maxReads = 128;
const maxBytes = 4 * 1024 * 1024;

/** Caches reads. Throws on a read outside of the file, or beyond the limits for one check. */
export function boundedReader(size: number, readAt: ReadAt): ReadAt {
  const pieces: { start: number; bytes: Buffer }[] = [];
  let readBytes = 0;
  return async (start, length) => {
    const end = Math.min(size, start + length);
    if (!(start >= 0 && start < end)) throw new RangeError('Points out of the file.');
    const known = pieces.find((piece) => start >= piece.start && end <= piece.start + piece.bytes.length);
    if (known) return known.bytes.subarray(start - known.start, end - known.start);
    readBytes += end - start;
    if (pieces.length >= maxReads || readBytes > maxBytes) throw new RangeError('Points to too many places.');
    const bytes = await readAt(start, end - start);
    pieces.push({ start, bytes });
    return bytes;
  };
}
