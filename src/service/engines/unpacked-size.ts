/** What the entries of a zip archive say of their size, by its central directory; an archive can lie, and often does not. */

const directoryEntry = Buffer.from('PK\x01\x02', 'latin1');
const directoryEnd = Buffer.from('PK\x05\x06', 'latin1');

/** Bytes of all entries unpacked; undefined for what is no readable archive. */
export function declaredUnpackedBytes(archive: Buffer): number | undefined {
  const end = archive.lastIndexOf(directoryEnd);
  if (end === -1 || end + 22 > archive.length) return undefined;
  let total = 0;
  let at = archive.readUInt32LE(end + 16);
  while (at + 46 <= end && archive.subarray(at, at + 4).equals(directoryEntry)) {
    total += archive.readUInt32LE(at + 24);
    // The header, its name, its extra field and its comment.
    at += 46 + archive.readUInt16LE(at + 28) + archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32);
  }
  return total;
}
