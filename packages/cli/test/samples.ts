import { crc32, deflateSync } from 'node:zlib';

/** A PNG of `size` × `size` pixels that no codec makes small: noise out of a fixed sequence. */
export function noisyPng(size: number): Buffer {
  let seed = 1;
  const noise = () => (seed = (seed * 48_271) % 2_147_483_647) & 0xff;
  const rows = Array.from({ length: size }, () => Buffer.from([0, ...Array.from({ length: size * 3 }, noise)]));
  const header = Buffer.alloc(13);
  header.writeUInt32BE(size, 0);
  header.writeUInt32BE(size, 4);
  header.set([8, 2, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.concat(rows))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, checksum]);
}
