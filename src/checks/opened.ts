import { open } from 'node:fs/promises';
import type * as Pdfium from '@hyzyla/pdfium';
import type sharp from 'sharp';
import { checkedBytes, checkedEnd, formatOf, problemOfEnd } from '../http/result-check';
import { isProtected } from '../protection/protected-file';
import type { ReadAt } from '../protection/read-at';
import { isCut } from './blocks';
import { openZip } from './zip';

/** A PDF is read into memory as a whole. */
const maxPdfBytes = 256 * 1024 * 1024;
/** Some formats need the whole picture in memory at once. */
const maxPixels = 100_000_000;
/** Pages are drawn at most this large to find out whether they are blank. */
const maxDrawnPixels = 1_000_000;
/** Limit of the search for a page that is not blank. */
const maxBlankPages = 500;

const pictures = ['avif', 'gif', 'jpeg', 'jpg', 'png', 'tif', 'tiff', 'webp'];
/** What the entries of each package must begin with, in lower case, with or without their folder. */
const parts: readonly [formats: string, ...names: string[]][] = [
  ['docm docx dotm dotx', '[content_types].xml', 'document'],
  ['potx ppsx pptm pptx', '[content_types].xml', 'presentation'],
  ['xlsb xlsm xlsx xltx', '[content_types].xml', 'workbook'],
  ['odg odp ods odt ott', 'content.xml'],
  ['epub', 'meta-inf/container.xml'],
];

/** What sharp says of pictures that it can't hold, though they may be right. */
const unknown = /(?<!contains )unsupported|not (?:supported|configured|implemented)|labq|samples|no known route/i;

/** First bytes of a zip, of an empty zip, and of a zip made for several parts. */
const packageStarts = ['PK\x03\x04', 'PK\x05\x06', 'PK\x07\x08'];

/** The packages that open results, loaded on first use: they may be missing. */
const packages = {
  '@hyzyla/pdfium': () => require('@hyzyla/pdfium') as typeof Pdfium,
  sharp: () => require('sharp') as typeof sharp,
};

/** The package that opens results of a format; undefined if none is needed. */
export function packageFor(output: string): { name: string; load: () => unknown } | undefined {
  const format = formatOf(output);
  const name = format === 'pdf' ? '@hyzyla/pdfium' : pictures.includes(format) ? 'sharp' : undefined;
  return name && { name, load: packages[name] };
}

/**
 * Why a result does not open, to continue "the result …"; undefined if it opens or can't be judged here. Call in a separate process:
 * the libraries are slow and may crash.
 */
export async function problemOfOpened(path: string, output: string): Promise<string | undefined> {
  const format = formatOf(output);
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const readAt: ReadAt = async (start, length) => {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, start);
      return buffer.subarray(0, bytesRead);
    };
    if (await isProtected({ size, readAt })) return 'opens only with a password';
    const start = await readAt(0, checkedBytes);
    // All four bytes: text may begin with `PK` too.
    const isPackage = neededIn(format) !== undefined || packageStarts.includes(start.toString('latin1', 0, 4));
    if (isPackage) return await problemOfPackage(readAt, size, format);
    if (await isCut(readAt, size, format)) return `is not whole: the end of the ${format} file is missing`;
    // sharp can't tell an animated AVIF from an empty one.
    if (start.toString('latin1', 4, 12) === 'ftypavis') return undefined;
    // No check of the end: some programs append data to a picture, which is decoded as a whole anyway.
    if (pictures.includes(format)) return await problemOfPicture(path, format.startsWith('tif'));
    const end = await readAt(Math.max(size - checkedEnd, 0), Math.min(size, checkedEnd));
    const problem = problemOfEnd({ start, end, output, isSized: false, bytes: size });
    if (problem !== undefined) return `is not whole: ${problem}`;
    return format === 'pdf' && size <= maxPdfBytes ? await problemOfPdf(await file.readFile()) : undefined;
  } finally {
    await file.close();
  }
}

function neededIn(format: string): string[] | undefined {
  const found = parts.find(([formats]) => formats.split(' ').includes(format));
  return found?.slice(1);
}

async function problemOfPackage(readAt: ReadAt, size: number, format: string): Promise<string | undefined> {
  const opened = await openZip(readAt, size);
  if ('problem' in opened) return `does not open: ${opened.problem}`;
  // Its directory is too large.
  if (opened.entries.length === 0) return undefined;
  const contents = opened.entries
    .filter(({ unpacked }) => unpacked > 0)
    // Some programs write names in these ways, and readers accept them.
    .map(({ name }) => name.toLowerCase().replaceAll('\\', '/').replace(/^\//, ''));
  const begins = contents
    .filter((name) => !name.endsWith('.rels'))
    .flatMap((name) => [name, name.slice(name.lastIndexOf('/') + 1)]);
  const lacking = neededIn(format)?.find((part) => !begins.some((begin) => begin.startsWith(part)));
  // Several results of a format come in one zip.
  const isOfSeveral =
    contents.length > 0 && contents.every((name) => name.endsWith('/') || name.endsWith(`.${format}`));
  return lacking === undefined || isOfSeveral ? undefined : `does not open: it has no ${lacking}`;
}

let library: ReturnType<typeof Pdfium.PDFiumLibrary.init> | undefined;

async function problemOfPdf(bytes: Buffer): Promise<string | undefined> {
  const pdfium = await (library ??= packages['@hyzyla/pdfium']().PDFiumLibrary.init());
  let document: Pdfium.PDFiumDocument | undefined;
  try {
    document = await pdfium.loadDocument(bytes);
    const pages = document.getPageCount();
    if (pages === 0) return 'has no pages';
    document.initializeFormFields();
    for (let number = 0; number < Math.min(pages, maxBlankPages); number += 1) {
      if (!(await isBlank(document.getPage(number)))) return undefined;
    }
    return pages > maxBlankPages ? undefined : pages === 1 ? 'is one blank page' : `has ${pages} pages, all blank`;
  } catch (error) {
    // After a crash, the library would give wrong answers.
    library = undefined;
    return `does not open: ${(error as Error).message}`;
  } finally {
    document?.destroy();
  }
}

async function isBlank(page: Pdfium.PDFiumPage): Promise<boolean> {
  const { originalWidth, originalHeight } = page.getOriginalSize();
  const scale = Math.min(1, Math.sqrt(maxDrawnPixels / (originalWidth * originalHeight)));
  const { data } = await page.render({ scale, render: 'bitmap', colorSpace: 'Gray', renderFormFields: true });
  // A page smaller than a point renders to nothing.
  return data.length > 0 && data.every((shade) => shade === 0xff);
}

/** `isOfPages`: each page is a picture of its own, possibly of another size. */
async function problemOfPicture(path: string, isOfPages: boolean): Promise<string | undefined> {
  const picture = packages.sharp();
  picture.cache(false);
  const read = (which: sharp.SharpOptions) => picture(path, { failOn: 'error', limitInputPixels: false, ...which });
  try {
    const { pages = 1 } = isOfPages ? await read({}).metadata() : {};
    let left = maxPixels;
    for (let page = 0; page < pages; page += 1) {
      const which = isOfPages ? { page } : { pages: -1 };
      const { width, height } = await read(which).metadata();
      left -= width * height;
      if (left < 0) return undefined;
      await read(which).resize(16, 16, { fit: 'fill' }).raw().toBuffer();
    }
    return undefined;
  } catch (error) {
    const [reason = ''] = (error as Error).message.split('\n');
    // Other programs may be able to open it.
    return unknown.test(reason) ? undefined : `can't be decoded: ${reason}`;
  }
}
