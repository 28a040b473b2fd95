import sharp from 'sharp';
import { serviceOfAllTests, tinySvg } from '../support';
import { commented, filledForm } from './pdfs';

/** Pictures and PDF pages, and the parameters of a conversion. */

const { client } = serviceOfAllTests({ conversionConcurrency: 1 });

const red = { r: 255, g: 0, b: 0 };
const blue = { r: 0, g: 0, b: 255 };

const plain = (background: { r: number; g: number; b: number }, width = 200, height = 100) =>
  sharp({ create: { width, height, channels: 3, background } });

async function twoPages(): Promise<Buffer> {
  const pages = await Promise.all([red, blue].map((color) => plain(color).png().toBuffer()));
  return sharp(pages, { join: { animated: true } })
    .tiff()
    .toBuffer();
}

async function colorOf(picture: Buffer, page = 0): Promise<number[]> {
  const { data } = await sharp(picture, { page })
    .resize(1, 1)
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  return [...data];
}

/** Allows for JPEG compression and antialiasing. */
const near = ([r, g, b]: number[], wanted: { r: number; g: number; b: number }): boolean =>
  [(r ?? 0) - wanted.r, (g ?? 0) - wanted.g, (b ?? 0) - wanted.b].every((off) => Math.abs(off) < 12);

const converted = async (name: string, data: string | Buffer, output: string, parameters = {}): Promise<Buffer> =>
  (await client.convertToBytes({ name, data }, output, parameters)).bytes;

describe('a PDF of pictures', () => {
  it('has one page per picture, of the same size, and converts back to the same pictures', async () => {
    const pdf = await converted('two.tiff', await twoPages(), 'pdf');
    const back = await converted('two.pdf', pdf, 'tiff', { dpi: 96 });
    const { pages, width, pageHeight } = await sharp(back, { pages: -1 }).metadata();
    expect([pages, width, pageHeight]).toEqual([2, 200, 100]);
    expect([near(await colorOf(back, 0), red), near(await colorOf(back, 1), blue)]).toEqual([true, true]);
  });

  it('contains a JPEG byte by byte', async () => {
    const jpeg = await plain(red).jpeg().toBuffer();
    expect((await converted('photo.jpg', jpeg, 'pdf')).includes(jpeg.subarray(-200))).toBe(true);
  });

  it('has the requested page size and margin', async () => {
    const pdf = await converted('logo.svg', tinySvg, 'pdf', { page_size: 'a5', margin: 20 });
    // A wide picture gets A5 in landscape: 210 by 148 mm.
    const page = await sharp(await converted('logo.pdf', pdf, 'png', { dpi: 72 })).metadata();
    expect([page.width, page.height]).toEqual([595, 419]);
  });
});

describe('pages of a PDF', () => {
  it('can be selected, with the requested resolution or width', async () => {
    const pdf = await converted('two.tiff', await twoPages(), 'pdf');
    const first = await client.convertToBytes({ name: 'two.pdf', data: pdf }, 'png');
    expect(near(await colorOf(first.bytes), red)).toBe(true);
    expect(first.warning['PAGES_LOST']).toMatch(/^Only the first of 2 pages/);
    const second = await client.convertToBytes({ name: 'two.pdf', data: pdf }, 'webp', { pages: 2, width: 50 });
    expect(near(await colorOf(second.bytes), blue)).toBe(true);
    expect([(await sharp(second.bytes).metadata()).width, second.warning]).toEqual([50, {}]);
  });

  it('that do not exist fail the conversion', async () => {
    const pdf = await converted('logo.svg', tinySvg, 'pdf');
    expect((await client.convert({ name: 'logo.pdf', data: pdf }, 'png', { pages: '2-9' })).error).toMatchObject({
      code: 'FAILED_CONVERT',
      message: 'The PDF has 1 page(s), and none that is asked for.',
    });
  });

  it('give their text, with a warning if there is none', async () => {
    const text = await converted(
      'a.md',
      '---\ntitle: T *it*\nkeywords: [a, b]\nauthor: [Ann, "Bo \\"B\\""]\n---\n\nGrüße an alle.',
      'pdf',
    );
    expect((await converted('a.pdf', text, 'txt')).toString()).toMatch(/^T it\nAnn\nBo [“"]B[”"]\nGrüße an alle\.\n/);
    const picture = await converted('logo.svg', tinySvg, 'pdf');
    const { warning } = await client.convertToBytes({ name: 'logo.pdf', data: picture }, 'txt');
    expect(warning['NO_TEXT']).toMatch(/^1 of 1 page/);
  });

  it('with too many pixels for the memory are refused before they are drawn', async () => {
    const pdf = await converted(
      'wide.svg',
      tinySvg.replace('width="40" height="20"', 'width="8000" height="8000"'),
      'pdf',
    );
    expect((await client.convert({ name: 'wide.pdf', data: pdf }, 'png', { dpi: 600 })).error).toMatchObject({
      code: 'FAILED_CONVERT',
      message: expect.stringMatching(/more than 128 megapixels/) as string,
    });
  });

  it('of a file that is no PDF fail with one clear line', async () =>
    expect((await client.convert({ name: 'a.pdf', data: 'hello' }, 'png')).error).toMatchObject({
      code: 'FAILED_CONVERT',
      message: expect.stringMatching(/^The file is not a PDF/) as string,
    }));
});

describe('text filled into a form, typed or stamped on a page', () => {
  it.each([true, false])(
    'is part of the text; ticked boxes give a warning (with appearance streams: %s)',
    async (appearances) => {
      const { bytes, warning } = await client.convertToBytes(
        { name: 'form.pdf', data: filledForm({ appearances }) },
        'txt',
      );
      expect(bytes.toString()).toMatch(/^Name:\n(?=[^]*Filled Jones)(?=[^]*Typed note)[^]*Stamped/);
      expect(warning).toEqual({ FORM_MARKS_LOST: expect.stringMatching(/^1 box\(es\) .*: agree\./) as string });
    },
  );

  it.each(['png', 'jpg', 'tiff'])('is drawn in the picture: %s', async (format) => {
    const picture = sharp(await converted('form.pdf', filledForm(), format, { dpi: 72 }));
    const darkest = async (left: number, top: number, width: number, height: number) => {
      const { channels } = await sharp(
        await picture.clone().extract({ left, top, width, height }).png().toBuffer(),
      ).stats();
      return channels.slice(0, 3).map(({ min }) => min);
    };
    // The name, the tick, and the text of the red stamp.
    expect(Math.max(...(await darkest(100, 80, 200, 20)))).toBeLessThan(100);
    expect(Math.max(...(await darkest(105, 145, 10, 10)))).toBeLessThan(100);
    expect(near(await darkest(250, 265, 40, 30), { r: 255, g: 0, b: 0 })).toBe(true);
  });
});

describe('a PDF converted to PDF', () => {
  it('is copied byte by byte, with a warning', async () => {
    const pdf = await converted('a.md', 'Some text', 'pdf');
    const { bytes, warning } = await client.convertToBytes({ name: 'a.pdf', data: pdf }, 'pdf');
    expect([bytes.equals(pdf), Object.keys(warning)]).toEqual([true, ['ALREADY_PDF']]);
  });

  it('without text gives a warning that suggests OCR', async () => {
    const { warning } = await client.convertToBytes(
      { name: 'a.pdf', data: await converted('a.svg', tinySvg, 'pdf') },
      'pdf',
    );
    expect(warning).toEqual({ NO_TEXT: expect.stringMatching(/^1 of 1 page\(s\) hold no text/) as string });
  });

  it('keeps only the requested pages, with their text and form values', async () => {
    const long = await converted('a.html', `<p>First ${'word '.repeat(2_000)}</p><h1>Last</h1>`, 'pdf');
    const text = (await converted('a.pdf', await converted('a.pdf', long, 'pdf', { pages: '2-99' }), 'txt')).toString();
    expect([text.includes('First'), text.includes('Last')]).toEqual([false, true]);
    const form = await converted('form.pdf', filledForm(), 'pdf', { pages: 1 });
    const { channels } = await sharp(await converted('form.pdf', form, 'png', { dpi: 72 }))
      .extract({ left: 105, top: 145, width: 10, height: 10 })
      .stats();
    expect(channels[0]?.min).toBeLessThan(100);
  });

  it('names what a copy of a page lacks: links, comments, files, and text that became a picture', async () => {
    const { warning } = await client.convertToBytes({ name: 'a.pdf', data: commented('Line') }, 'pdf', { pages: 1 });
    expect(warning).toEqual({
      ATTACHMENTS_LOST: expect.any(String) as string,
      COMMENTS_LOST: expect.any(String) as string,
      LINKS_LOST: '1 link(s) on pages of the PDF are not in the result.',
      PAGES_ARE_PICTURES: expect.stringMatching(/^1 page\(s\) that hold text are pictures now/) as string,
    });
  });
});

describe('parameters of a conversion', () => {
  it('are refused if the conversion does not support them, and the message lists those it supports', async () => {
    expect((await client.convert({ name: 'logo.svg', data: tinySvg }, 'png', { quality: 9 })).error).toEqual({
      code: 'INVALID_PARAMETER',
      message: 'The parameter quality is invalid: svg to png takes width.',
    });
    const none = await client.convert({ name: 'a.md', data: 'a' }, 'html', { dpi: 90 });
    expect(none.error.message).toMatch(/md to html takes none\.$/);
  });

  it('set the quality and the width of a picture', async () => {
    const noise = Buffer.from(Array.from({ length: 200 * 200 * 3 }, (_, index) => (index * 7919) % 251));
    const png = await sharp(noise, { raw: { width: 200, height: 200, channels: 3 } })
      .png()
      .toBuffer();
    const [poor, good] = await Promise.all(
      [5, 95].map((quality) => converted('noise.png', png, 'jpg', { quality, width: 100 })),
    );
    expect((poor ?? png).length * 3).toBeLessThan((good ?? png).length);
    expect((await sharp(good).metadata()).width).toBe(100);
  });

  it('set the paper size and the margin of a document', async () => {
    const letter = await converted('a.md', '# A', 'pdf', { page_size: 'letter', margin: 50 });
    const page = sharp(await converted('a.pdf', letter, 'png', { dpi: 72 }));
    const { width, height } = await page.metadata();
    expect([width, height]).toEqual([612, 792]);
    const { info } = await page.trim({ threshold: 40 }).toBuffer({ resolveWithObject: true });
    // 50 mm are 142 points.
    expect(-(info.trimOffsetLeft ?? 0)).toBeGreaterThanOrEqual(138);
    expect(-(info.trimOffsetLeft ?? 0)).toBeLessThan(150);
  });
});
