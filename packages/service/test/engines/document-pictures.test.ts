import sharp from 'sharp';
import { describeLostPictures, takenPictures } from '../../src/engines/document-pictures';
import { tinyPng } from '../support';

/** Pictures in documents whose results take no such pictures. */

const width = 3;
/** The lower line is red, green and blue, the upper one blue, green and red. */
const colours = ['ff0000', '00ff00', '0000ff'];
const upper = [2, 1, 0];

/** As Windows has them: `lines`, from below, in indexes of the palette or in colours. */
function bitmap(bits: number, lines: readonly string[], { palette = '', height = 2, packing = 0 } = {}): Buffer {
  const head = Buffer.alloc(70);
  head.write('BM', 'latin1');
  head.writeUInt32LE(70 + palette.length / 2, 10);
  head.writeUInt32LE(56, 14);
  head.writeInt32LE(width, 18);
  head.writeInt32LE(height, 22);
  head.writeUInt16LE(bits, 28);
  head.writeUInt32LE(packing, 30);
  head.writeUInt32LE(0xff0000, 54);
  const stride = Math.ceil((width * bits) / 32) * 8;
  return Buffer.concat([head, Buffer.from(palette + lines.map((line) => line.padEnd(stride, '0')).join(''), 'hex')]);
}

const reversed = (colour: string) => colour.replace(/(..)(..)(..)/, '$3$2$1');
const line = (order: readonly number[], more = '') =>
  order.map((index) => reversed(colours[index] ?? '') + more).join('');
const palette = colours.map((colour) => `${reversed(colour)}00`).join('');
const shown = [...upper, 0, 1, 2].map((index) => colours[index]).join('');

async function pixelsOf(data: Uint8Array | undefined): Promise<string> {
  return (await sharp(data).removeAlpha().raw().toBuffer()).toString('hex');
}

it.each([
  ['a bitmap', bitmap(24, [line([0, 1, 2]), line(upper)])],
  ['a bitmap from above', bitmap(24, [line(upper), line([0, 1, 2])], { height: -2 })],
  ['a bitmap of 32 bits', bitmap(32, [line([0, 1, 2], 'ff'), line(upper, 'ff')], { packing: 3 })],
  ['a bitmap of 256 colours', bitmap(8, ['000102', '020100'], { palette })],
  ['a bitmap of 16 colours', bitmap(4, ['0120', '2100'], { palette })],
])('%s is shown as a PNG', async (_title, data) => {
  const { media, lost } = await takenPictures(new Map([['a.bmp', data]]), ['png']);
  expect([...lost]).toEqual([]);
  expect(await pixelsOf(media.get('a.bmp'))).toBe(shown);
  expect((await sharp(media.get('a.bmp')).metadata()).density).toBe(72);
});

it('a TIFF and a drawing become PNG where they are not taken, as large on paper as they were', async () => {
  const tiff = await sharp(tinyPng).withDensity(300).tiff().toBuffer();
  const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="10" height="5"><rect/></svg>');
  const pictures = new Map([
    ['a', tiff],
    ['b', svg],
    ['c', tinyPng],
  ]);
  const { media } = await takenPictures(pictures, ['png']);
  const read = await Promise.all([...media.values()].map((data) => sharp(data).metadata()));
  expect(read.map(({ format, density }) => [format, density])).toEqual([
    ['png', 300],
    ['png', 144],
    ['png', expect.anything()],
  ]);
  expect(media.get('c')).toBe(tinyPng);
  expect((await takenPictures(pictures, ['png', 'svg'])).media.get('b')).toBe(svg);
});

it('others are left out and named', async () => {
  const cut = bitmap(24, [line(upper)]);
  const { media, lost } = await takenPictures(
    new Map([
      ['a.emf', Buffer.alloc(80)],
      ['b.bmp', cut],
      ['c.png', tinyPng.subarray(0, 40)],
    ]),
    ['png'],
  );
  expect([...media.keys()]).toEqual([]);
  expect(describeLostPictures(lost)).toEqual({
    IMAGES_LOST: expect.stringMatching(/^3 picture\(s\) .*: a\.emf, b\.bmp, c\.png\. Put PNG/) as string,
  });
  expect(describeLostPictures(new Set())).toEqual({});
});
