import { crc32, inflateRawSync } from 'node:zlib';

/** Zip archives, as far as office documents use them. */

const directoryEntry = Buffer.from('PK\x01\x02', 'latin1');
const directoryEnd = Buffer.from('PK\x05\x06', 'latin1');
const fileStart = 0x04034b50;
/** Limit for one entry; a larger one is no text, or an attempt to fill the memory. */
const maxEntryBytes = 256 * 1024 * 1024;
const nameIsUtf8 = 0x800;

interface Entry {
  readonly name: string;
  readonly unpackedBytes: number;
  /** Its position and length in the directory. */
  readonly at: number;
  readonly length: number;
}

/** The entries in the directory of an archive; none if the archive is unreadable. */
export function entriesOf(archive: Buffer): Entry[] {
  const end = archive.lastIndexOf(directoryEnd);
  if (end === -1 || end + 22 > archive.length) return [];
  const entries: Entry[] = [];
  let at = archive.readUInt32LE(end + 16);
  while (at + 46 <= end && archive.subarray(at, at + 4).equals(directoryEntry)) {
    const nameLength = archive.readUInt16LE(at + 28);
    // The header, its name, its extra field and its comment.
    const length = 46 + nameLength + archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32);
    const name = archive.toString('utf8', at + 46, at + 46 + nameLength).replace(/^\//, '');
    entries.push({ name, unpackedBytes: archive.readUInt32LE(at + 24), at, length });
    at += length;
  }
  return entries;
}

/** The contents of an entry as text; undefined if unreadable. XML is UTF-8, or UTF-16 with a byte order mark. */
export function textOfEntry(archive: Buffer, entry: Entry): string | undefined {
  const bytes = bytesOfEntry(archive, entry);
  if (bytes?.[0] === 0xff && bytes[1] === 0xfe) return bytes.toString('utf16le', 2);
  return bytes?.[0] === 0xfe && bytes[1] === 0xff ? new TextDecoder('utf-16be').decode(bytes) : bytes?.toString('utf8');
}

/** The contents of an entry; undefined if unreadable. */
export function bytesOfEntry(archive: Buffer, { at }: Entry): Buffer | undefined {
  try {
    const start = archive.readUInt32LE(at + 42);
    if (archive.readUInt32LE(start) !== fileStart) return undefined;
    const from = start + 30 + archive.readUInt16LE(start + 26) + archive.readUInt16LE(start + 28);
    const packed = archive.subarray(from, from + archive.readUInt32LE(at + 20));
    const method = archive.readUInt16LE(at + 10);
    if (method === 0) return packed;
    return method === 8 ? inflateRawSync(packed, { maxOutputLength: maxEntryBytes }) : undefined;
  } catch {
    return undefined;
  }
}

/** The text of the entry with this name; empty if there is none. */
export function textOfPart(archive: Buffer, name: string): string {
  const entry = entriesOf(archive).find((each) => each.name === name);
  return (entry && textOfEntry(archive, entry)) ?? '';
}

const numbered = /&#(?:x0*([\da-f]{5,6})|0*(\d{5,7}));/gi;

/** Replaces numeric references to characters above U+FFFF, which not every reader supports, by the characters. */
export function withWholeCharacters(archive: Buffer): Buffer {
  return editParts(archive, /\.xml$/, (xml) =>
    xml.replace(numbered, (shown, hex?: string, decimal?: string) => {
      const code = hex === undefined ? Number(decimal) : parseInt(hex, 16);
      return code > 0xffff && code <= 0x10ffff ? String.fromCodePoint(code) : shown;
    }),
  );
}

/** A copy of an archive with the results of `edit` as the texts of these entries; the same archive if none changes. */
export function editParts(archive: Buffer, part: RegExp, edit: (xml: string, name: string) => string): Buffer {
  const edited = new Map<string, string>();
  for (const entry of entriesOf(archive)) {
    const xml = part.test(entry.name) ? textOfEntry(archive, entry) : undefined;
    const other = xml === undefined ? xml : edit(xml, entry.name);
    if (other !== undefined && other !== xml) edited.set(entry.name, other);
  }
  return withEntries(archive, edited);
}

/** A copy of an archive with new contents for some entries, which follow the old ones uncompressed. */
export function withEntries(archive: Buffer, contents: ReadonlyMap<string, string>): Buffer {
  const entries = entriesOf(archive);
  const [first] = entries;
  if (!first || contents.size === 0) return archive;
  const parts: Buffer[] = [archive.subarray(0, first.at)];
  let length = first.at;
  const directory = entries.map(({ name, at, length: bytes }) => {
    const entry = Buffer.from(archive.subarray(at, at + bytes));
    const content = contents.get(name);
    if (content === undefined) return entry;
    const data = Buffer.from(content, 'utf8');
    const nameBytes = Buffer.from(name, 'utf8');
    const head = Buffer.alloc(30);
    head.writeUInt32LE(fileStart);
    head.writeUInt16LE(20, 4);
    head.writeUInt16LE(nameIsUtf8, 6);
    head.writeUInt32LE(crc32(data), 14);
    head.writeUInt32LE(data.length, 18);
    head.writeUInt32LE(data.length, 22);
    head.writeUInt16LE(nameBytes.length, 26);
    // Flags, method, CRC and both sizes are those of the head; times stay.
    const listed = Buffer.concat([entry.subarray(0, 46), nameBytes]);
    head.copy(listed, 8, 6, 10);
    head.copy(listed, 16, 14, 26);
    listed.writeUInt16LE(nameBytes.length, 28);
    listed.writeUInt32LE(0, 30);
    listed.writeUInt32LE(length, 42);
    parts.push(head, nameBytes, data);
    length += head.length + nameBytes.length + data.length;
    return listed;
  });
  const list = Buffer.concat(directory);
  const end = Buffer.from(archive.subarray(archive.lastIndexOf(directoryEnd)));
  end.writeUInt32LE(list.length, 12);
  end.writeUInt32LE(length, 16);
  return Buffer.concat([...parts, list, end]);
}
