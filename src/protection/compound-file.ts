import type { ReadAt } from './read-at';

const endOfChain = 0xfffffffa;
/** More sectors than one check may read. */
const maxSectors = 131_072;
/** Smaller streams share the root's stream. */
const smallBytes = 4_096;
/** Limit for the directory and for the table of small sectors. */
const maxBytes = 1024 * 1024;

/** The top-level streams of a compound file ([MS-CFB]), by name. */
export interface CompoundFile {
  has(name: string): boolean;
  /** As `ReadAt`. @throws if there is no such stream */
  read(name: string, start: number, length: number): Promise<Buffer>;
}

type Entry = ReturnType<typeof entryOf>;

export async function openCompoundFile(read: ReadAt): Promise<CompoundFile> {
  const header = await read(0, 512);
  const sectorBytes = 2 ** header.readUInt16LE(30);
  if (sectorBytes !== 512 && sectorBytes !== 4_096) throw new RangeError('Has no sectors of a known size.');
  const perSector = sectorBytes / 4;
  const sectorAt = (sector: number) => (sector + 1) * sectorBytes;

  /** Sectors of the list beyond the header, as far as known: each is read once, even if they form a circle. */
  const lists = [header.readUInt32LE(68)];

  /** The next sector of a chain, from the table of sectors, whose own sectors are listed in the header and in `lists`. */
  async function next(sector: number): Promise<number> {
    const listed = Math.floor(sector / perSector);
    let [list, at] = [header, 76 + 4 * listed];
    if (listed >= 109) {
      const index = Math.floor((listed - 109) / (perSector - 1));
      const listAt = (at: number) => read(sectorAt(lists[at] ?? 0), sectorBytes);
      while (lists.length <= index) lists.push((await listAt(lists.length - 1)).readUInt32LE(sectorBytes - 4));
      list = await listAt(index);
      at = 4 * ((listed - 109) % (perSector - 1));
    }
    const table = await read(sectorAt(list.readUInt32LE(at)), sectorBytes);
    return table.readUInt32LE(4 * (sector % perSector));
  }
  /** Bytes of a chain of sectors; consecutive sectors are read at once. */
  async function chain(first: number, start: number, length: number): Promise<Buffer> {
    const sectors: number[] = [];
    for (
      let each = first;
      each < endOfChain && sectors.length * sectorBytes < start + length;
      each = await next(each)
    ) {
      if (sectors.push(each) > maxSectors) throw new RangeError('Its chain of sectors is too long.');
    }
    const runs: Buffer[] = [];
    const skipped = Math.floor(start / sectorBytes);
    for (let at = skipped, count = 1; at < sectors.length; at += count, count = 1) {
      const run = sectors[at] ?? 0;
      while (sectors[at + count] === run + count) count += 1;
      runs.push(await read(sectorAt(run), count * sectorBytes));
    }
    const from = start - skipped * sectorBytes;
    return Buffer.concat(runs).subarray(from, from + length);
  }

  const directory = await chain(header.readUInt32LE(48), 0, maxBytes);
  const entryAt = (index: number) => entryOf(directory.subarray(128 * index, 128 * (index + 1)));
  const root = entryAt(0);
  const streams = new Map<string, Entry>();
  // Only the top level: an embedded document has streams of the same names.
  const toVisit = [root.child];
  const visited = new Set<number>();
  for (let index = toVisit.pop(); index !== undefined; index = toVisit.pop()) {
    if (index >= directory.length / 128 || visited.has(index)) continue;
    visited.add(index);
    const entry = entryAt(index);
    toVisit.push(...entry.linked);
    if (entry.isStream) streams.set(entry.name, entry);
  }

  /** Small streams share the root's stream, in sectors of 64 bytes with their own table. */
  async function readSmall({ start, bytes }: Entry): Promise<Buffer> {
    const table = await chain(header.readUInt32LE(60), 0, maxBytes);
    const sectors: number[] = [];
    for (let each = start; sectors.length * 64 < bytes; each = table.readUInt32LE(4 * each)) sectors.push(each);
    const shared = await chain(root.start, 0, 64 * (Math.max(...sectors) + 1));
    return Buffer.concat(sectors.map((each) => shared.subarray(64 * each, 64 * (each + 1))));
  }

  return {
    has: (name) => streams.has(name),
    async read(name, start, length) {
      const entry = streams.get(name);
      if (!entry) throw new RangeError(`Has no stream ${name}.`);
      const end = Math.min(start + length, entry.bytes);
      const isSmall = entry.bytes < Math.min(header.readUInt32LE(56), smallBytes);
      return isSmall ? (await readSmall(entry)).subarray(start, end) : chain(entry.start, start, end - start);
    },
  };
}

function entryOf(bytes: Buffer) {
  return {
    name: bytes.toString('utf16le', 0, Math.max(0, bytes.readUInt16LE(64) - 2)),
    isStream: bytes[66] === 2,
    linked: [bytes.readUInt32LE(68), bytes.readUInt32LE(72)],
    child: bytes.readUInt32LE(76),
    start: bytes.readUInt32LE(116),
    bytes: bytes.readUInt32LE(120),
  };
}
