import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Sharp } from 'sharp';
import { ConversionFailure, type EngineRequest, type Converted, type ConvertedFile, type Warnings } from './conversion';
import { describeFrames, loadSharp, maxPixels } from './pictures/image-engine';
import { readInput } from './input';
import { describeAttached, describeForms, describeUncopied, hasNotes, pageWithForms } from './pdf/pdf-forms';
import { assemble, copyPdf } from './pdf/pdf-pages';
import { pageNumbers, drawPage, textOfPage, withPdf } from './pdf/pdf-reader';
import { lastLine, pathOf, programs, runProgram, workFolderOf } from './programs';

/** Sharp enough to recognise print. */
const defaultDpi = 300;
const pageEnd = '\f';

export async function recognise(request: EngineRequest): Promise<Converted | ConvertedFile> {
  const input = await readInput(request);
  const isPdf = request.route.reader === 'pdf';
  if (request.route.writer === 'pdf') {
    if (isPdf) return recognisePdf(request, input);
    return { file: await runTesseract(request, await picturesIn(input), 'pdf'), warnings: describeFrames(input) };
  }
  const { texts, warnings } = isPdf
    ? await textsOfPdf(request, input)
    : { texts: await textsOf(request, await picturesIn(input)), warnings: describeFrames(input) };
  const empty = texts.filter((each) => each.trim() === '').length;
  const nothing: Warnings =
    empty > 0
      ? {
          NO_TEXT: `In ${empty} of ${texts.length} page(s) no text was found. Name its language (ocr_language) if there is some.`,
        }
      : {};
  const text = `${texts.map((each) => each.trim()).join(`\n\n${pageEnd}`)}\n`;
  return { data: new TextEncoder().encode(text), warnings: { ...nothing, ...warnings } };
}

/** Pages with text stay as they are, unless a language is named; the others become pictures with searchable text. */
async function recognisePdf(request: EngineRequest, input: Buffer): Promise<Converted | ConvertedFile> {
  const isAsked = request.parameters.ocr_language !== undefined;
  const { pages, attached } = await withPdf(input, (document) => {
    const numbers = pageNumbers(document, request);
    const all = numbers.map((number) => {
      const page = document.getPage(number);
      const { originalWidth: width, originalHeight: height } = page.getOriginalSize();
      return { number, width, height, hasText: textOfPage(page) !== '', hasNotes: hasNotes(document, number) };
    });
    return Promise.resolve({ pages: all, attached: describeUncopied(document, numbers) });
  });
  if (!isAsked && pages.every(({ hasText }) => hasText)) return copyPdf(request, input);
  // Annotations cannot be copied with a page.
  const drawn = pages.flatMap(({ hasText, hasNotes }, index) => (isAsked || !hasText || hasNotes ? [index] : []));
  const recognised = await runTesseract(request, await drawnPages(request, input, drawn), 'pdf');
  const pictures = drawn.filter((index) => pages[index]?.hasText).length;
  const warnings: Warnings = { ...attached };
  if (pictures > 0) {
    warnings['PAGES_ARE_PICTURES'] =
      `${pictures} page(s) that hold text are pictures now, with the text that was read in them. Leave ocr_language out to keep pages with text as they are.`;
  }
  if (drawn.length === pages.length) return { file: recognised, warnings };
  const files = new Map([['original.pdf', new Uint8Array(input)]]).set('recognised.pdf', await readFile(recognised));
  const placed = pages.map((page, index) => {
    const at = drawn.indexOf(index);
    return at === -1 ? { ...page, file: 'original.pdf' } : { ...page, file: 'recognised.pdf', number: at };
  });
  return { data: await assemble(placed, files), warnings };
}

/** The text of each page, or else the text recognised in its picture. */
async function textsOfPdf(
  request: EngineRequest,
  input: Buffer,
): Promise<{ texts: readonly string[]; warnings: Warnings }> {
  const { texts, warnings } = await withPdf(input, (document) => {
    const numbers = pageNumbers(document, request);
    const beside = { ...describeForms(document, numbers, true), ...describeAttached(document, numbers) };
    const pages = numbers.map((number) => pageWithForms(document, number));
    return Promise.resolve({ texts: pages.map((page) => textOfPage(page)), warnings: beside });
  });
  const scanned = texts.flatMap((text, index) => (text === '' ? [index] : []));
  if (scanned.length === 0) return { texts, warnings };
  const found = await textsOf(request, await drawnPages(request, input, scanned));
  return { texts: texts.map((text, index) => (text === '' ? (found[scanned.indexOf(index)] ?? '') : text)), warnings };
}

async function textsOf(request: EngineRequest, pages: readonly Sharp[]): Promise<string[]> {
  const text = await readFile(await runTesseract(request, pages, 'txt'), 'utf8');
  return text.split(pageEnd).slice(0, pages.length);
}

async function drawnPages(request: EngineRequest, input: Buffer, only: readonly number[]): Promise<Sharp[]> {
  return withPdf(input, async (document) => {
    const pages: Sharp[] = [];
    for (const [index, number] of pageNumbers(document, request).entries()) {
      if (!only.includes(index)) continue;
      const page = pageWithForms(document, number);
      pages.push(await drawPage(page, { parameters: { dpi: defaultDpi, ...request.parameters } }));
    }
    return pages;
  });
}

async function picturesIn(input: Buffer): Promise<Sharp[]> {
  const sharp = await loadSharp();
  try {
    const { pages = 1 } = await sharp(input, { limitInputPixels: maxPixels }).metadata();
    return Array.from({ length: pages }, (_, page) =>
      sharp(input, { page, limitInputPixels: maxPixels }).autoOrient().flatten({ background: 'white' }),
    );
  } catch {
    throw new ConversionFailure('The picture is damaged, cut off, or none.');
  }
}

async function runTesseract(request: EngineRequest, pages: readonly Sharp[], writer: string): Promise<string> {
  const folder = workFolderOf(request);
  const names: string[] = [];
  for (const [index, page] of pages.entries()) {
    const name = path.join(folder, `${index}.png`);
    const { dpi: density = defaultDpi } = request.parameters;
    await page.withMetadata({ density }).png({ compressionLevel: 1 }).toFile(name);
    names.push(name);
  }
  const list = path.join(folder, 'pages');
  await writeFile(list, names.join('\n'));
  const language = request.parameters.ocr_language ?? 'eng';
  const result = path.join(folder, 'result');
  const ended = await runProgram(pathOf(programs.tesseract), [list, result, '-l', language, writer], request);
  if (ended.code === 0) return `${result}.${writer}`;
  if (!/load(ing)? any languages|Failed loading language/i.test(ended.says)) {
    const reason = lastLine(ended.says, request);
    throw new ConversionFailure(`Tesseract could not read the ${request.inputFormat} file: ${reason}`);
  }
  const packages = language.split('+').map((each) => `tesseract-ocr-${each.replaceAll('_', '-').toLowerCase()}`);
  throw new ConversionFailure(
    `Tesseract has no data for the language ${language} here. Run: apt-get install ${packages.join(' ')}`,
  );
}
