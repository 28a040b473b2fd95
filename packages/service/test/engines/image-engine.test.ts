import { convertImage } from '../../src/engines/image-engine';
import { tinyPng } from '../support';
import { requestOf } from './requests';

/** What of a picture is in no picture that is made of it. */

/** Of one of its frames are the pixels that others show, too. */
function animated(frames: number): Buffer {
  const control = Buffer.alloc(20);
  control.writeUInt32BE(8);
  control.write('acTL', 4, 'latin1');
  control.writeUInt32BE(frames, 8);
  control.writeUInt32BE(crc32(control.subarray(4, 16)), 16);
  const endOfHead = 33;
  return Buffer.concat([tinyPng.subarray(0, endOfHead), control, tinyPng.subarray(endOfHead)]);
}

function crc32(bytes: Buffer): number {
  let sum = 0xffffffff;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return (sum ^ 0xffffffff) >>> 0;
}

describe('an animated PNG', () => {
  it.each(['jpeg', 'gif', 'webp', 'pdf'])('has lost its other frames as %s', async (writer) => {
    const { warnings } = await convertImage(requestOf('png', writer), animated(3));
    expect(warnings['PAGES_LOST']).toMatch(/^Only one of 3 frames/);
  });

  it('of one frame has lost none', async () => {
    expect((await convertImage(requestOf('png', 'gif'), animated(1))).warnings).toEqual({});
    expect((await convertImage(requestOf('png', 'gif'), tinyPng)).warnings).toEqual({});
  });
});
