import sharp from 'sharp';
import { describeLostPictures, takenPictures } from '../../../src/engines/documents/document-pictures';
import { tinyPng } from '../../support';

/** Pictures in formats that the result does not support. */

it('converts TIFF and SVG to PNG of the same size on paper where necessary', async () => {
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

it('leaves out and names the rest', async () => {
  const { media, lost } = await takenPictures(
    new Map([
      ['a.emf', Buffer.alloc(80)],
      ['b.bmp', Buffer.from(`BM${'\\0'.repeat(80)}`)],
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
