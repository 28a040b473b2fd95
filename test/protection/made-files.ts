import { createCipheriv, createHash } from 'node:crypto';
import { rc4 } from '../../src/protection/ciphers';

/** Office files that no available program writes, made by the letter of [MS-CFB], [MS-OFFCRYPTO], [MS-XLS] and [MS-PPT]. */

const sectorBytes = 512;

const sha1 = (...parts: Uint8Array[]) => createHash('sha1').update(Buffer.concat(parts)).digest();

export function numbers(bytes: 2 | 4, ...values: number[]): Buffer {
  const made = Buffer.alloc(values.length * bytes);
  values.forEach((value, index) => made.writeUIntLE(value, index * bytes, bytes));
  return made;
}

/** A compound file with these streams at its top, and others in a storage, like an embedded document. */
export function compound(
  streams: Readonly<Record<string, Buffer>>,
  embedded: Readonly<Record<string, Buffer>> = {},
): Buffer {
  const top = Object.entries(streams);
  const below = Object.entries(embedded);
  const none = 0xffffffff;
  const sectors: Buffer[] = [];
  const table: number[] = [];
  function add(content: Buffer): number {
    const start = sectors.length;
    const count = Math.max(1, Math.ceil(content.length / sectorBytes));
    for (let index = 0; index < count; index += 1) {
      sectors.push(Buffer.concat([content.subarray(index * sectorBytes), Buffer.alloc(sectorBytes)], sectorBytes));
      table.push(index + 1 < count ? start + index + 1 : 0xfffffffe);
    }
    return start;
  }
  const entry = (name: string, type: number, links: { next?: number; child?: number; content?: Buffer }) =>
    Buffer.concat([
      Buffer.concat([Buffer.from(name, 'utf16le'), Buffer.alloc(64)], 64),
      numbers(2, 2 * name.length + 2),
      Buffer.from([type, 1]),
      numbers(4, none, links.next ?? none, links.child ?? none),
      Buffer.alloc(36),
      numbers(4, links.content ? add(links.content) : 0, links.content?.length ?? 0, 0),
    ]);
  const row = (list: typeof top, from: number, isLast: boolean) =>
    list.map(([name, content], index) =>
      entry(name, 2, { content, ...((index + 1 < list.length || !isLast) && { next: from + index + 1 }) }),
    );
  const directory = [
    entry('Root Entry', 5, { child: 1 }),
    ...row(top, 1, false),
    entry('Embedded', 1, { child: below.length > 0 ? top.length + 2 : none }),
    ...row(below, top.length + 2, true),
  ];
  const directoryStart = add(Buffer.concat(directory));
  const tableSector = sectors.length;
  table.push(0xfffffffd);
  if (table.length > sectorBytes / 4) throw new Error('one sector of the table must do');
  sectors.push(numbers(4, ...table, ...Array.from({ length: sectorBytes / 4 - table.length }, () => none)));
  const header = Buffer.alloc(sectorBytes, 0xff);
  Buffer.from('d0cf11e0a1b11ae1', 'hex').copy(header);
  numbers(2, 0x3e, 3, 0xfffe, 9, 6).copy(header, 24);
  // All streams are large ones.
  numbers(4, 1, directoryStart, 0, 0, 0xfffffffe, 0, 0xfffffffe, 0, tableSector).copy(header, 44);
  return Buffer.concat([header, ...sectors]);
}

/** The header of an encryption with a key of a cryptographic provider: RC4, or AES as in Office Open XML of 2007. */
export function providerInfo(password: string, cipher: 'rc4' | 'aes'): Buffer {
  const isRc4 = cipher === 'rc4';
  const salt = Buffer.alloc(16, 7);
  const verifier = Buffer.alloc(16, 9);
  const start = sha1(salt, Buffer.from(password, 'utf16le'));
  const plain = Buffer.concat([verifier, sha1(verifier), Buffer.alloc(isRc4 ? 0 : 12)]);
  let encrypted: Buffer;
  if (isRc4) encrypted = rc4(sha1(start, numbers(4, 0)), plain);
  else {
    let spun = start;
    for (let spin = 0; spin < 50_000; spin += 1) spun = sha1(numbers(4, spin), spun);
    spun = sha1(spun, numbers(4, 0));
    const key = sha1(Buffer.from(Buffer.alloc(64, 0x36).map((byte, at) => byte ^ (spun[at] ?? 0)))).subarray(0, 16);
    encrypted = createCipheriv('aes-128-ecb', key, null).setAutoPadding(false).update(plain);
  }
  const [algorithm, keyBits] = isRc4 ? [0x6801, 0] : [0x660e, 128];
  const header = numbers(4, 4, 0, algorithm, 0x8004, isRc4 ? 160 : keyBits, 24, 0, 0);
  const hash = [numbers(4, 20), encrypted.subarray(16)];
  return Buffer.concat([
    numbers(2, isRc4 ? 2 : 3, 2),
    numbers(4, 4, header.length),
    header,
    numbers(4, 16),
    salt,
    encrypted.subarray(0, 16),
    ...hash,
  ]);
}

const record = (type: number, ...content: Buffer[]) =>
  Buffer.concat([numbers(2, 0, type), numbers(4, Buffer.concat(content).length), ...content]);

/** A presentation; encrypted if a password is given. */
export function presentation(password?: string): Buffer {
  const encryption = record(0x2f14, password === undefined ? Buffer.alloc(0) : providerInfo(password, 'rc4'));
  const directory = record(0x1772, numbers(4, (2 << 20) | 1, 0, 0));
  const edit = record(0x0ff5, numbers(4, 0, 0, 0, encryption.length, 1, 3, 0, 2));
  const editAt = encryption.length + directory.length;
  const token = password === undefined ? 0xe391c05f : 0xf3d1c4df;
  return compound({
    'PowerPoint Document': Buffer.concat([encryption, directory, edit]),
    'Current User': record(0x0ff6, numbers(4, 20, token, editAt)),
  });
}

/** A workbook of Excel 97 or later, or of Excel 5, with this content in its FILEPASS record. */
export function workbook(filePass: Buffer | undefined, version: 6 | 5 = 6): Buffer {
  const line = (type: number, content: Buffer) => Buffer.concat([numbers(2, type, content.length), content]);
  const begin = line(0x0809, numbers(2, version * 256, 5, 0, 0));
  const end = line(0x0a, Buffer.alloc(0));
  return compound({
    [version === 6 ? 'Workbook' : 'Book']: Buffer.concat([begin, filePass ? line(0x2f, filePass) : end, end]),
  });
}
