import { deflateSync } from 'node:zlib';
import { pngChunk } from '../../service/test/engines/bombs';

/** A PNG of `size` × `size` pixels of pseudo-random noise, which no codec compresses well; always the same for one size. */
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
    pngChunk('IHDR', header),
    pngChunk('IDAT', deflateSync(Buffer.concat(rows))),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}
