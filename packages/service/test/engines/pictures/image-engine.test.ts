import { crc32 } from 'node:zlib';
import sharp from 'sharp';
import { convertImage } from '../../../src/engines/pictures/image-engine';
import { tinyPng } from '../../support';
import { requestOf } from '../requests';

/** Warnings about content of a picture that is lost in the result. */

/** Adds an animation header to a PNG of one frame. */
function animated(frames: number): Buffer {
  const control = Buffer.alloc(20);
  control.writeUInt32BE(8);
  control.write('acTL', 4, 'latin1');
  control.writeUInt32BE(frames, 8);
  control.writeUInt32BE(crc32(control.subarray(4, 16)), 16);
  const endOfHead = 33;
  return Buffer.concat([tinyPng.subarray(0, endOfHead), control, tinyPng.subarray(endOfHead)]);
}

describe('an animated PNG', () => {
  it.each(['jpeg', 'gif', 'webp', 'pdf'])('loses its other frames as %s', async (writer) => {
    const { warnings } = await convertImage(requestOf('png', writer), animated(3));
    expect(warnings['PAGES_LOST']).toMatch(/^Only one of 3 frames/);
  });

  it('loses nothing if it has only one frame', async () => {
    expect((await convertImage(requestOf('png', 'webp'), animated(1))).warnings).toEqual({});
    expect((await convertImage(requestOf('png', 'webp'), tinyPng)).warnings).toEqual({});
  });
});

it('names transparency that the result cannot hold, and only if the picture makes use of it', async () => {
  const named = async (alpha: number, writer: string) => {
    const create = { width: 2, height: 2, channels: 4, background: { r: 200, g: 0, b: 0, alpha } } as const;
    const { warnings } = await convertImage(requestOf('png', writer), await sharp({ create }).png().toBuffer());
    return 'TRANSPARENCY_LOST' in warnings;
  };
  const lossesOf = async (writer: string) => Promise.all([0, 0.2, 1].map((alpha) => named(alpha, writer)));
  expect(await lossesOf('jpeg')).toEqual([true, true, false]);
  expect(await lossesOf('gif')).toEqual([false, true, false]);
  expect(await lossesOf('webp')).toEqual([false, false, false]);
});

/** A TIFF of one row of 32-bit values; `format`: 1 integer, 3 floating point. */
function greyTiff(values: readonly number[], format: 1 | 3): Buffer {
  const pixels = format === 3 ? Float32Array.from(values) : Uint32Array.from(values);
  return rowTiff(values.length, Buffer.from(pixels.buffer), { 258: 32, 262: 1, 277: 1, 339: format });
}

function rowTiff(width: number, pixels: Buffer, tags: Readonly<Record<number, number>>): Buffer {
  const own = { 256: width, 257: 1, 259: 1, 273: 8, 278: 1, 279: pixels.length };
  // TIFF requires ascending tags; integer keys of an object are sorted.
  const entries = Object.entries({ ...own, ...tags }).map(([tag, value]) => [Number(tag), value]);
  const head = Buffer.from('II*\0\0\0\0\0', 'latin1');
  head.writeUInt32LE(8 + pixels.length, 4);
  const directory = Buffer.alloc(2 + entries.length * 12 + 4);
  directory.writeUInt16LE(entries.length);
  entries.forEach(([tag = 0, value = 0], index) => {
    directory.writeUInt16LE(tag, 2 + index * 12);
    directory.writeUInt16LE(4, 4 + index * 12);
    directory.writeUInt32LE(1, 6 + index * 12);
    directory.writeUInt32LE(value, 10 + index * 12);
  });
  return Buffer.concat([head, pixels, directory]);
}

it.each(['png', 'jpeg', 'tiff', 'pdf'])(
  'converts a JPEG with junk between its segments to %s with a warning, but refuses a truncated one',
  async (writer) => {
    const noise = { type: 'gaussian', mean: 128, sigma: 50 } as const;
    const create = { width: 64, height: 64, channels: 3, background: 'white', noise } as const;
    const jpeg = await sharp({ create }).withMetadata({ orientation: 6 }).jpeg().toBuffer();
    const tables = jpeg.indexOf(Buffer.from([0xff, 0xdb]));
    const odd = Buffer.concat([jpeg.subarray(0, tables), Buffer.from('junk'), jpeg.subarray(tables)]);
    const { warnings } = await convertImage(requestOf('jpeg', writer), odd);
    expect(warnings['INPUT_DAMAGED']).toMatch(/^The JPEG image does not keep to its format/);
    const half = jpeg.subarray(0, jpeg.length / 2);
    await expect(convertImage(requestOf('jpeg', writer), half)).rejects.toThrow('damaged or cut off');
  },
);

it('refuses CIELAB colours with a reason', async () => {
  const pixels = Buffer.from([255, 0, 0, 136, 80, 67]);
  await expect(convertImage(requestOf('tiff', 'png'), rowTiff(2, pixels, { 258: 8, 262: 8, 277: 3 }))).rejects.toThrow(
    /^The TIFF image has its colours in a form that the engine does not read, .* Save it as RGB\.$/,
  );
});

it.each([
  ['floating point', greyTiff([-0.5, 0, 0.5], 3), '-0.5 to 0.5'],
  ['32 bits', greyTiff([1_000, 2_000, 3_000], 1), '1000 to 3000'],
])('scales a TIFF of measured values (%s) from black to white', async (_kind, tiff, range) => {
  const { data, warnings } = await convertImage(requestOf('tiff', 'png'), tiff);
  const pixels = await sharp(data).greyscale().raw().toBuffer();
  expect([pixels[0], pixels[2]]).toEqual([0, 255]);
  expect(Math.abs((pixels[1] ?? 0) - 128)).toBeLessThan(2);
  expect((await convertImage(requestOf('tiff', 'pdf'), tiff)).warnings).toEqual(warnings);
  expect(warnings).toEqual({
    VALUES_SCALED: `The picture holds measured values from ${range}, which are shown as black to white.`,
  });
});

describe('an SVG', () => {
  const svg = (content: string) =>
    Buffer.from(
      `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="90" height="60">${content}</svg>`,
    );
  const html = (text: string, needs = '') =>
    `<foreignObject${needs} width="90" height="20"><p xmlns="http://www.w3.org/1999/xhtml">${text}</p></foreignObject>`;
  const warningsOf = async (content: string, writer = 'png') =>
    (await convertImage(requestOf('svg', writer), svg(content))).warnings;

  it.each(['png', 'pdf'])('loses HTML without a text alternative, as %s', async (writer) => {
    const label = (text: string, needs?: string) => `<switch>${html(text, needs)}<text y="20">${text}</text></switch>`;
    const needs = ' requiredFeatures="http://www.w3.org/TR/SVG11/feature#Extensibility"';
    const labels = `${label('Twice', needs)}${label('Once')}${html('Gone <b>away</b>')}`;
    expect(await warningsOf(`${labels}<text y="40">Plain</text>`, writer)).toEqual({
      TEXT_LOST: expect.stringMatching(/^Not in the result: 3 word\(s\) \(ONCE, GONE, AWAY\) of HTML/) as string,
    });
  });

  it('shows boxes for characters that no font has', async () =>
    expect(await warningsOf('<text y="20">A \u{10fffd}</text>')).toEqual({
      GLYPHS_MISSING: expect.stringMatching(/^No font of this machine has 1 character/) as string,
    }));

  it('loses external files, but not embedded ones', async () => {
    const data = `data:image/png;base64,${tinyPng.toString('base64')}`;
    const held = `<rect id="a" width="9" height="9"/><use href="#a"/><image width="9" height="9" xlink:href="${data}"/>`;
    expect(await warningsOf(held)).toEqual({});
    const beside = `<style>@import url(x.css);</style><image width="9" height="9" xlink:href="logo.png"/><use href='signs.svg#b'/>`;
    expect(await warningsOf(held + beside)).toEqual({
      RESOURCE_NOT_FOUND: expect.stringContaining(
        'only the file itself is uploaded: x.css, logo.png, signs.svg#b.',
      ) as string,
    });
  });
});
