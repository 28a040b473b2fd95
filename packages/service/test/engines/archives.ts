import { crc32, deflateRawSync } from 'node:zlib';

/** Archives and office packages, written by hand. */

export interface ZipEntry {
  name: string;
  deflated: Buffer;
  size: number;
  crc: number;
}

export function zipEntry(name: string, data: string | Buffer, { isStored = false } = {}): ZipEntry {
  const bytes = Buffer.from(data);
  return { name, deflated: isStored ? bytes : deflateRawSync(bytes), size: bytes.length, crc: crc32(bytes) };
}

/** A ZIP archive. `flags` and `method` go into the headers as they are, true or not. */
export function zip(entries: readonly ZipEntry[], { flags = 0, method = 8 } = {}): Buffer {
  const files: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, deflated, size, crc } of entries) {
    // Common to the local and the central header: versions, flags, method, time, CRC, sizes, lengths.
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(flags, 2);
    common.writeUInt16LE(method, 4);
    common.writeUInt32LE(crc, 10);
    common.writeUInt32LE(deflated.length, 14);
    common.writeUInt32LE(Math.min(size, 0xfffffffe), 18);
    common.writeUInt16LE(Buffer.byteLength(name), 22);
    const file = Buffer.concat([Buffer.from('PK\x03\x04'), common, Buffer.from(name), deflated]);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(offset, 10);
    directory.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\0'), common, tail, Buffer.from(name)]));
    files.push(file);
    offset += file.length;
  }
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(Buffer.concat(directory).length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...files, ...directory, end]);
}

const packaged = 'http://schemas.openxmlformats.org/package/2006';
export const office = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';

export const relation = (id: string, type: string, target: string): string =>
  `<Relationship Id="${id}" Type="${office}/${type}" Target="${target}"/>`;

export const relationsOf = (relations: readonly string[]): string =>
  `<Relationships xmlns="${packaged}/relationships">${relations.join('')}</Relationships>`;

interface Part {
  /** The last part of a content type of the package's kind (`worksheet`), or a full content type. */
  type: string;
  /** Undefined: the part is listed but missing. */
  xml?: string | Buffer | undefined;
  relations?: readonly string[];
}

/** Entries of an Office Open XML package. `kind`: `spreadsheetml` and so on; `main`: the part that programs open first. */
export function openXml(main: string, kind: string, parts: ReadonlyMap<string, Part>): ZipEntry[] {
  const types = [...parts].map(([name, { type }]) => {
    const whole = type.includes('/') ? type : `application/vnd.openxmlformats-officedocument.${kind}.${type}+xml`;
    return `<Override PartName="/${name}" ContentType="${whole}"/>`;
  });
  const usual = `<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>`;
  const files: [string, string | Buffer | undefined][] = [
    ['[Content_Types].xml', `<Types xmlns="${packaged}/content-types">${usual}${types.join('')}</Types>`],
    ['_rels/.rels', relationsOf([relation('r1', 'officeDocument', main)])],
    ...[...parts].flatMap(([name, { xml, relations = [] }]): [string, string | Buffer | undefined][] => [
      [name, xml],
      [name.replace(/([^/]+)$/, '_rels/$1.rels'), relations.length === 0 ? undefined : relationsOf(relations)],
    ]),
  ];
  return files.flatMap(([name, data]) => (data === undefined ? [] : [zipEntry(name, data)]));
}
