import type { PDFiumPage } from '@hyzyla/pdfium';
import type { Warnings } from '../conversion';
import { count } from '../input';
import { textOfPage, withPdf } from './pdf-reader';
import { pdfiumOf } from './pdfium';
import { isHere } from '../programs';
import { lostWords, someWords } from '../words';

/** Reads back a PDF that was made here, to find text that is missing, leaves the page, or is printed over other text. */

interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** Letters that merely touch do not overlap. */
const [tolerance, overlap] = [3, 0.4];

/**
 * `text`: what should be in the PDF; `isSet`: no text is outside of a page or over other text on purpose; `isSheet`: `###` stands for
 * numbers without room.
 */
export async function checkPdf(
  pdf: Uint8Array,
  { text, isSet, isSheet = false }: { text: string; isSet: boolean; isSheet?: boolean },
): Promise<Warnings> {
  if (!isHere({ npm: '@hyzyla/pdfium' })) return {};
  return withPdf(Buffer.from(pdf), (document) => {
    const pages = Array.from({ length: document.getPageCount() }, (_, number) =>
      readPage(document.getPage(number), isSet),
    );
    const lost = lostWords(text, ...pages.map((page) => page.text));
    const warnings: Warnings = {};
    if (lost.length > 0) {
      warnings['TEXT_LOST'] = `Not on the pages of the PDF: ${someWords(lost)} of the document.`;
    }
    const narrow = isSheet ? pages.reduce((sum, page) => sum + count(page.text, noRoom), 0) - count(text, noRoom) : 0;
    if (narrow > 0) {
      warnings['CELLS_TOO_NARROW'] =
        `${narrow} cell(s) show ### in place of a number or a date, because their columns are too narrow. Widen the columns, save the file and convert it again.`;
    }
    if (isSheet) Object.assign(warnings, describeErrors(text, ...pages.map((page) => page.text)));
    return Promise.resolve(isSet ? { ...warnings, ...describePlaces(pages) } : warnings);
  });
}

const noRoom = /###/g;
/** LibreOffice's own errors for formulas that it does not know; `error` also has those that all programs show. */
const ownError = /\bErr:5\d\d\b|#(?:NAME|MACRO)\?/g;
const error = /\bErr:5\d\d\b|#(?:N\/A|(?:NULL|DIV\/0|VALUE|REF|NUM)!|(?:NAME|MACRO)\?)/g;

/** The text of a spreadsheet that LibreOffice has made from an old one, which had no such errors as far as is known. */
export function withoutErrors(text: string): string {
  return text.replace(ownError, ' ');
}

/** `text`: contents of the spreadsheet, empty if unknown; `shown`: what LibreOffice has made of it. */
export function describeErrors(text: string, ...shown: string[]): Warnings {
  const signs = text === '' ? ownError : error;
  const errors = shown.reduce((sum, each) => sum + count(each, signs), -count(text, signs));
  if (errors <= 0) return {};
  const message = `${errors} cell(s) show an error (such as Err:508 or #NAME?) in place of the result of a formula that LibreOffice does not know, or that asks another file. Put values in place of formulas, or save the file as PDF in Excel.`;
  return { FORMULAS_NOT_CALCULATED: message };
}

interface PageRead {
  readonly text: string;
  /** Number of pieces of text that leave the page, or overlap another. */
  readonly outside: number;
  readonly overlapping: number;
}

function describePlaces(pages: readonly PageRead[]): Warnings {
  const warnings: Warnings = {};
  const warn = (name: string, of: (page: PageRead) => number, says: string) => {
    const numbers = pages.flatMap((page, index) => (of(page) > 0 ? [index + 1] : []));
    if (numbers.length === 0) return;
    const shown = numbers.slice(0, 5).join(', ') + (numbers.length > 5 ? ' and others' : '');
    const pieces = pages.reduce((sum, page) => sum + of(page), 0);
    warnings[name] =
      `${pieces} piece(s) of text ${says}, on page ${shown}. Split wide tables and long lines, or choose a larger page_size.`;
  };
  warn('TEXT_OUTSIDE_PAGE', ({ outside }) => outside, 'leave the page');
  warn('TEXT_OVERLAPS', ({ overlapping }) => overlapping, 'are printed over other text');
  return warnings;
}

function readPage(page: PDFiumPage, isSet: boolean): PageRead {
  const { originalWidth: width, originalHeight: height } = page.getOriginalSize();
  const text = isSet ? textOfPage(page) : seenText(page);
  const boxes = boxesOf(page);
  const outside = boxes.filter(
    ({ left, right, top, bottom }) =>
      left < -tolerance || right > width + tolerance || bottom < -tolerance || top > height + tolerance,
  ).length;
  boxes.sort((one, other) => other.top - one.top);
  const overlapping = boxes.filter((box, index) => {
    for (let next = index + 1; next < boxes.length; next += 1) {
      const other = boxes[next];
      if (!other || other.top <= box.bottom) return false;
      if (shared(box, other) > overlap * Math.min(areaOf(box), areaOf(other))) return true;
    }
    return false;
  }).length;
  const { pdfium, handle } = pdfiumOf(page);
  pdfium._FPDF_ClosePage(handle);
  return { text, outside, overlapping };
}

function areaOf({ left, right, top, bottom }: Box): number {
  return (right - left) * (top - bottom);
}

function shared(one: Box, other: Box): number {
  const width = Math.min(one.right, other.right) - Math.max(one.left, other.left);
  const height = Math.min(one.top, other.top) - Math.max(one.bottom, other.bottom);
  return width > 0 && height > 0 ? width * height : 0;
}

const textObject = 1;

/** The text of a page without letters that are outside of it, or clipped because a cell or a row has no room. */
function seenText(page: PDFiumPage): string {
  const { pdfium } = pdfiumOf(page);
  const memory = pdfium.wasmExports.malloc(64);
  try {
    const cut = cutTexts(page, memory);
    return textOfPage(page, (text, letter) => {
      const area = cut.get(pdfium._FPDFText_GetTextObject(text, letter));
      if (!area) return true;
      pdfium._FPDFText_GetCharBox(text, letter, memory, memory + 8, memory + 16, memory + 24);
      const [left = 0, right = 0, bottom = 0, top = 0] = new Float64Array(pdfium.HEAPU8.buffer, memory, 4);
      const [x, y] = [(left + right) / 2, (bottom + top) / 2];
      return x >= area.left && x <= area.right && y >= area.bottom && y <= area.top;
    });
  } finally {
    pdfium.wasmExports.free(memory);
  }
}

/** The pieces of text that are not entirely visible, each with the area that is. */
function cutTexts(page: PDFiumPage, memory: number): Map<number, Box> {
  const { pdfium, handle } = pdfiumOf(page);
  const { originalWidth: right, originalHeight: top } = page.getOriginalSize();
  const floats = (count: number) => new Float32Array(pdfium.HEAPU8.buffer, memory, count);
  const cut = new Map<number, Box>();
  for (let index = 0; index < pdfium._FPDFPage_CountObjects(handle); index += 1) {
    const object = pdfium._FPDFPage_GetObject(handle, index);
    if (pdfium._FPDFPageObj_GetType(object) !== textObject) continue;
    let area: Box = { left: 0, bottom: 0, right, top };
    const clip = pdfium._FPDFPageObj_GetClipPath(object);
    for (let path = 0; path < pdfium._FPDFClipPath_CountPaths(clip); path += 1) {
      const points = Array.from({ length: pdfium._FPDFClipPath_CountPathSegments(clip, path) }, (_, segment) => {
        const place = pdfium._FPDFClipPath_GetPathSegment(clip, path, segment);
        pdfium._FPDFPathSegment_GetPoint(place, memory, memory + 4);
        return [...floats(2)] as [number, number];
      });
      const [xs, ys] = [points.map(([x]) => x), points.map(([, y]) => y)];
      area = {
        left: Math.max(area.left, Math.min(...xs)),
        bottom: Math.max(area.bottom, Math.min(...ys)),
        right: Math.min(area.right, Math.max(...xs)),
        top: Math.min(area.top, Math.max(...ys)),
      };
    }
    pdfium._FPDFPageObj_GetBounds(object, memory, memory + 4, memory + 8, memory + 12);
    const [left = 0, bottom = 0, end = 0, head = 0] = floats(4);
    const isWhole =
      left >= area.left - tolerance &&
      bottom >= area.bottom - tolerance &&
      end <= area.right + tolerance &&
      head <= area.top + tolerance;
    if (!isWhole) cut.set(object, area);
  }
  return cut;
}

function boxesOf(page: PDFiumPage): Box[] {
  const { pdfium, handle } = pdfiumOf(page);
  const text = pdfium._FPDFText_LoadPage(handle);
  const memory = pdfium.wasmExports.malloc(64);
  try {
    const count = pdfium._FPDFText_CountRects(text, 0, -1);
    const boxes: Box[] = [];
    for (let index = 0; index < count; index += 1) {
      if (!pdfium._FPDFText_GetRect(text, index, memory, memory + 8, memory + 16, memory + 24)) continue;
      const [left = 0, top = 0, right = 0, bottom = 0] = new Float64Array(pdfium.HEAPU8.buffer, memory, 4);
      if (right > left && top > bottom) boxes.push({ left, top, right, bottom });
    }
    return boxes;
  } finally {
    pdfium.wasmExports.free(memory);
    pdfium._FPDFText_ClosePage(text);
  }
}
