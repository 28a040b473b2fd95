import type { PDFiumDocument, PDFiumLibrary, PDFiumPage } from '@hyzyla/pdfium';
import type { Sharp } from 'sharp';
import {
  choosePages,
  ConversionFailure,
  type EngineRequest,
  type Converted,
  loadEngine,
  pointsPerInch,
  failureReason,
  type Warnings,
} from '../conversion';
import { count } from '../input';
import { pdfiumOf } from './pdfium';
import { describeAttached, describeForms, pageWithForms } from './pdf-forms';
import { encodePicture, loadSharp, maxPixels } from '../pictures/image-engine';

/** Sharp enough to read a printed page on a screen. */
const defaultDpi = 150;

let library: Awaited<ReturnType<typeof PDFiumLibrary.init>> | undefined;

export async function convertPdf(request: EngineRequest, input: Buffer): Promise<Converted> {
  return withPdf(input, async (document) => {
    const numbers = pageNumbers(document, request);
    const isText = request.route.writer === 'text';
    const beside = { ...describeForms(document, numbers, isText), ...describeAttached(document, numbers) };
    const pages = numbers.map((number) => pageWithForms(document, number));
    const { data, warnings } = isText ? textOf(pages) : await picturesOf(request, pages);
    return { data, warnings: { ...beside, ...warnings } };
  });
}

export function pageNumbers(document: PDFiumDocument, { parameters }: Pick<EngineRequest, 'parameters'>): number[] {
  const count = document.getPageCount();
  const numbers = choosePages(parameters.pages, count);
  if (numbers.length === 0) throw new ConversionFailure(`The PDF has ${count} page(s), and none that is asked for.`);
  return numbers;
}

/** Stands for a glyph for which the PDF names no character. */
const unknownLetter = '\ufffd';
const unknownLetters = /\ufffd/g;
/** Control characters except those of lines, and noncharacters. */
const noLetter = /(?![\t\n\r])[\p{Cc}\ufffe\uffff]/u;

/**
 * The text of a page, with spaces in place of letters that `isSeen` (by their index) rejects. PDFium's own function drops as many letters
 * at the end as there are unknown ones before.
 */
export function textOfPage(page: PDFiumPage, isSeen: (text: number, letter: number) => boolean = () => true): string {
  const { pdfium, handle } = pdfiumOf(page);
  const text = pdfium._FPDFText_LoadPage(handle);
  const letters = Array.from({ length: pdfium._FPDFText_CountChars(text) }, (_, letter) => {
    if (!isSeen(text, letter)) return ' ';
    const code = pdfium._FPDFText_GetUnicode(text, letter);
    // At the end of a line, which PDFium leaves out.
    if (pdfium._FPDFText_IsHyphen(text, letter)) return '-\n';
    const character = code > 0x10ffff ? unknownLetter : String.fromCodePoint(code);
    return noLetter.test(character) ? unknownLetter : character;
  });
  pdfium._FPDFText_ClosePage(text);
  return letters.join('').replace(/\r\n?/g, '\n').trim();
}

export async function withPdf<Result>(
  input: Buffer,
  use: (document: PDFiumDocument) => Promise<Result>,
): Promise<Result> {
  const { PDFiumLibrary: libraries } = await loadEngine('@hyzyla/pdfium', () => import('@hyzyla/pdfium'));
  library ??= await libraries.init();
  let document: PDFiumDocument;
  try {
    document = await library.loadDocument(input);
  } catch (error) {
    const reason = failureReason(error);
    throw new ConversionFailure(
      /password/i.test(reason)
        ? 'The PDF is encrypted. Remove its password and convert it again.'
        : `The file is not a PDF, or it is damaged: ${reason}`,
    );
  }
  try {
    return await use(document);
  } finally {
    document.destroy();
  }
}

function textOf(pages: readonly PDFiumPage[]): Converted {
  const texts = pages.map((page) => textOfPage(page));
  const empty = texts.filter((text) => text === '').length;
  const message = `${empty} of ${texts.length} page(s) hold no text, as scanned ones do.`;
  const warnings: Warnings = empty > 0 ? { NO_TEXT: message } : {};
  const unknown = texts.reduce((sum, text) => sum + count(text, unknownLetters), 0);
  if (unknown > 0) {
    warnings['LETTERS_UNKNOWN'] =
      `Of ${unknown} character(s) the PDF does not say which letter they show; the text has ${unknownLetter} in their place.`;
  }
  return { data: new TextEncoder().encode(`${texts.join('\n\n\f')}\n`), warnings };
}

async function picturesOf(request: EngineRequest, asked: readonly PDFiumPage[]): Promise<Converted> {
  const shown = request.route.writer === 'tiff' ? asked : asked.slice(0, 1);
  const pages: Buffer[] = [];
  for (const page of shown) {
    pages.push(await (await drawPage(page, request)).png({ compressionLevel: 1 }).toBuffer());
  }
  const sharp = await loadSharp();
  const image =
    pages.length === 1
      ? sharp(pages[0])
      : sharp(pages, { join: { animated: true, background: 'white', valign: 'top' } });
  const density = request.parameters.width === undefined ? (request.parameters.dpi ?? defaultDpi) : undefined;
  const sized = density === undefined ? image : image.withMetadata({ density });
  const data = await encodePicture(sized, request).toBuffer();
  const warnings: Warnings = {};
  if (asked.length > shown.length) {
    warnings['PAGES_LOST'] =
      `Only the first of ${asked.length} pages was converted. Choose another with the parameter pages, or convert to tiff to keep all.`;
  }
  return { data, warnings };
}

/** One page as a picture on white. */
export async function drawPage(page: PDFiumPage, { parameters }: Pick<EngineRequest, 'parameters'>): Promise<Sharp> {
  const { originalWidth: width, originalHeight: height } = page.getOriginalSize();
  const scale =
    parameters.width === undefined ? (parameters.dpi ?? defaultDpi) / pointsPerInch : parameters.width / width;
  if (width * height * scale * scale > maxPixels) {
    throw new ConversionFailure(
      `A page would have more than ${maxPixels / 1_000_000} megapixels; convert it with a smaller dpi or width.`,
    );
  }
  const { data, ...size } = await page.render({ scale, render: 'bitmap' });
  const sharp = await loadSharp();
  return sharp(Buffer.from(data.buffer, data.byteOffset, data.byteLength), {
    raw: { width: size.width, height: size.height, channels: 4 },
  }).flatten({ background: 'white' });
}
