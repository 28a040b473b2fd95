import sharp from 'sharp';
import { serviceOfAllTests } from '../../support';

const running = serviceOfAllTests();

it('turns a portrait photo upright in every format, some of which cannot store an orientation', async () => {
  // Stored in landscape: orientation 6 makes a viewer turn it by 90 degrees, which brings red to the top.
  const halves = [
    { input: { create: { width: 20, height: 20, channels: 3, background: 'red' } as const }, left: 0, top: 0 },
    { input: { create: { width: 20, height: 20, channels: 3, background: 'blue' } as const }, left: 20, top: 0 },
  ];
  const lying = sharp({ create: { width: 40, height: 20, channels: 3, background: 'white' } }).composite(halves);
  const photo = await lying.jpeg().withMetadata({ orientation: 6 }).toBuffer();
  for (const output of ['png', 'webp', 'gif']) {
    const picture = sharp((await running.client.convertToBytes({ name: 'photo.jpg', data: photo }, output)).bytes);
    expect([output, await picture.metadata()]).toMatchObject([output, { width: 20, height: 40 }]);
    const [red = 0, , blue = 0] = await picture.extract({ left: 10, top: 10, width: 1, height: 1 }).raw().toBuffer();
    expect([output, red > blue]).toEqual([output, true]);
  }
});

const scanned = (format: 'tiff' | 'jpeg' | 'png' | 'webp') =>
  sharp({ create: { width: 124, height: 175, channels: 3, background: 'white' } })
    .withDensity(150)
    .toFormat(format)
    .toBuffer();

it.each(['tiff', 'jpeg', 'png', 'webp'] as const)(
  'keeps the printed size of a scan: from %s to every format, and to a PDF page',
  async (format) => {
    const data = await scanned(format);
    const name = `scan.${format}`;
    for (const output of ['tiff', 'jpg', 'png', 'webp', 'avif']) {
      if (output.replace('jpg', 'jpeg') === format) continue;
      const { bytes } = await running.client.convertToBytes({ name, data }, output);
      const { density, exif } = await sharp(bytes).metadata();
      // sharp does not read the density of WebP and AVIF; their PDF shows it.
      if (exif === undefined || density !== undefined) expect([output, density]).toEqual([output, 150]);
      const { bytes: pdf } = await running.client.convertToBytes({ name: `again.${output}`, data: bytes }, 'pdf');
      const { bytes: page } = await running.client.convertToBytes({ name: 'page.pdf', data: pdf }, 'png', { dpi: 150 });
      const { width, height } = await sharp(page).metadata();
      // Page sizes are in points, so the last pixel may differ.
      expect([output, Math.abs(width - 124) <= 2, Math.abs(height - 175) <= 2]).toEqual([output, true, true]);
    }
  },
);

it('keeps the printed size of a scan that is made smaller', async () => {
  const { bytes } = await running.client.convertToBytes({ name: 'a.png', data: await scanned('png') }, 'tiff', {
    width: 62,
  });
  expect(await sharp(bytes).metadata()).toMatchObject({ width: 62, density: 75 });
});

it('keeps the colours of a photo, and its colour profile and camera data where the format can hold them', async () => {
  const data = await sharp({ create: { width: 8, height: 8, channels: 3, background: 'red' } })
    .withExif({ IFD0: { Copyright: 'nobody' }, IFD3: { GPSLatitudeRef: 'N' } })
    .withIccProfile('p3')
    .png()
    .toBuffer();
  for (const output of ['webp', 'tiff', 'jpg', 'avif', 'gif']) {
    const { bytes } = await running.client.convertToBytes({ name: 'photo.png', data }, output);
    const { icc, exif } = await sharp(bytes).metadata();
    expect([output, icc !== undefined, exif?.includes('nobody') ?? false]).toEqual([
      output,
      output !== 'gif',
      !['gif', 'tiff'].includes(output),
    ]);
    const [red = 0, green = 0] = await sharp(bytes).toColourspace('srgb').raw().toBuffer();
    expect([output, red > 250 && green < 10]).toEqual([output, true]);
  }
});

it('keeps 16 bits per channel where the format supports them', async () => {
  const data = await sharp({ create: { width: 8, height: 8, channels: 3, background: '#808080' } })
    .toColourspace('rgb16')
    .png()
    .toBuffer();
  const { bytes } = await running.client.convertToBytes({ name: 'deep.png', data }, 'tiff');
  expect(await sharp(bytes).metadata()).toMatchObject({ depth: 'ushort' });
});

it('puts pages of different sizes into one PDF, and refuses other formats', async () => {
  const pages = { name: 'fax.tif', data: tiffOf([8, 4], [16, 4]) };
  for (const output of ['tiff', 'webp', 'gif']) {
    expect((await running.client.convert(pages, output)).error.message).toMatch(
      new RegExp(`^The pages of the TIF+ image differ in size, and no ${output} .*Convert it to pdf`),
    );
  }
  const { bytes } = await running.client.convertToBytes(pages, 'pdf');
  expect(bytes.toString('latin1').match(/\/Type\s*\/Page\b/g)).toHaveLength(2);
});

/** A TIFF of black pages, each in one uncompressed strip. */
function tiffOf(...sizes: readonly (readonly [width: number, height: number])[]): Buffer {
  const pieces = [Buffer.from('49492a0008000000', 'hex')];
  let at = 8;
  sizes.forEach(([width, height], index) => {
    const strip = at + 2 + 9 * 12 + 4;
    const next = index === sizes.length - 1 ? 0 : strip + width * height;
    const tags = [
      [256, width],
      [257, height],
      [258, 8],
      [259, 1],
      [262, 1],
      [273, strip],
      [277, 1],
      [278, height],
      [279, width * height],
    ];
    const directory = Buffer.alloc(strip - at);
    directory.writeUInt16LE(tags.length, 0);
    tags.forEach(([tag = 0, value = 0], entry) => {
      directory.writeUInt16LE(tag, 2 + entry * 12);
      directory.writeUInt16LE(4, 4 + entry * 12);
      directory.writeUInt32LE(1, 6 + entry * 12);
      directory.writeUInt32LE(value, 10 + entry * 12);
    });
    directory.writeUInt32LE(next, directory.length - 4);
    pieces.push(directory, Buffer.alloc(width * height));
    at = next;
  });
  return Buffer.concat(pieces);
}
