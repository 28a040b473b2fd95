import { ConversionFailure, type ConversionRequest } from './conversion';

/** Everything in a document, its images too. */
const maxUnpackedBytes = 512 * 1024 * 1024;

const archiveStart = Buffer.from('PK');
const directoryEntry = Buffer.from('PK\x01\x02', 'latin1');
const directoryEnd = Buffer.from('PK\x05\x06', 'latin1');
/** Of the container that office programs put encrypted documents into, and in which older ones wrote all of theirs. */
const compoundFileStart = Buffer.from('d0cf11e0a1b11ae1', 'hex');

/** Refuses what is no zip archive, or unpacks to too much; one that lies about that meets the limits of its process. */
export function requireArchive({ inputFormat }: Pick<ConversionRequest, 'inputFormat'>, input: Buffer): void {
  const name = inputFormat.toUpperCase();
  if (startsWith(input, compoundFileStart)) {
    throw new ConversionFailure(
      `The ${name} document is encrypted, or has the format of an older program. Remove its password, or save it as ${name} anew.`,
    );
  }
  if (!startsWith(input, archiveStart)) {
    throw new ConversionFailure(
      `The file is not a ${name} document: it is no zip archive, so it is damaged or has the wrong extension.`,
    );
  }
  const bytes = declaredUnpackedBytes(input);
  if (bytes <= maxUnpackedBytes) return;
  const [size, limit] = [bytes, maxUnpackedBytes].map((count) => Math.ceil(count / 1024 / 1024));
  throw new ConversionFailure(`The ${name} document unpacks to ${size} MiB; the engines take at most ${limit} MiB.`);
}

function startsWith(input: Buffer, start: Buffer): boolean {
  return input.subarray(0, start.length).equals(start);
}

/** Bytes of all entries unpacked, by the archive's directory; 0 for what is no readable archive. */
function declaredUnpackedBytes(archive: Buffer): number {
  const end = archive.lastIndexOf(directoryEnd);
  if (end === -1 || end + 22 > archive.length) return 0;
  let total = 0;
  let at = archive.readUInt32LE(end + 16);
  while (at + 46 <= end && archive.subarray(at, at + 4).equals(directoryEntry)) {
    total += archive.readUInt32LE(at + 24);
    // The header, its name, its extra field and its comment.
    at += 46 + archive.readUInt16LE(at + 28) + archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32);
  }
  return total;
}
