import type { PDFiumDocument } from '@hyzyla/pdfium';
import { ConversionFailure, type EngineRequest, type Converted, oneLine, type Warnings } from '../conversion';
import { describeUncopied, hasNotes, pageWithForms } from './pdf-forms';
import { pageNumbers, drawPage, textOfPage, withPdf } from './pdf-reader';
import { installCommand, isHere, programs } from '../programs';
import { typeset } from '../typesetter';

/** Copies pages of a PDF to a PDF, without converting them. */

/** A page of a PDF (`number`, from 0) or a picture, to be placed in a PDF. */
interface PlacedPage {
  readonly file: string;
  readonly number?: number;
  readonly width: number;
  readonly height: number;
}

/** Dots per inch of a page that cannot be copied with its annotations. */
const pictureDpi = 200;
const alreadyPdf =
  'The file is a PDF with text already, and was copied as it is. Name the language of its pictures (ocr_language) to have them read.';

export async function copyPdf(request: EngineRequest, input: Buffer): Promise<Converted> {
  return withPdf(input, (document) => copyPages(request, input, document));
}

async function copyPages(request: EngineRequest, input: Buffer, document: PDFiumDocument): Promise<Converted> {
  const numbers = pageNumbers(document, request);
  const warnings: Warnings = {};
  const empty = numbers.filter((number) => textOfPage(document.getPage(number)) === '').length;
  if (empty > 0) {
    const install = isHere(programs.tesseract) ? '' : ` To have it read, run: ${installCommand([programs.tesseract])}`;
    warnings['NO_TEXT'] = `${empty} of ${numbers.length} page(s) hold no text, as scanned ones do.${install}`;
  }
  if (request.parameters.pages === undefined) {
    return { data: input, warnings: { ...warnings, ...(empty === 0 && { ALREADY_PDF: alreadyPdf }) } };
  }
  // Before pages are drawn, which takes their notes away.
  Object.assign(warnings, describeUncopied(document, numbers));
  const isDrawn = (number: number) => hasNotes(document, number) && textOfPage(document.getPage(number)) !== '';
  const pictures = numbers.filter(isDrawn).length;
  if (pictures > 0) {
    warnings['PAGES_ARE_PICTURES'] =
      `${pictures} page(s) that hold text are pictures now, because notes and form fields cannot be copied with a page.`;
  }
  const files = new Map<string, Uint8Array>([['original.pdf', input]]);
  const placed: PlacedPage[] = [];
  for (const number of numbers) placed.push(await placePage(document, number, files));
  return { data: await assemble(placed, files), warnings };
}

/** A page as it is, or a picture of it if it has annotations. */
async function placePage(
  document: PDFiumDocument,
  number: number,
  files: Map<string, Uint8Array>,
): Promise<PlacedPage> {
  const page = document.getPage(number);
  const { originalWidth: width, originalHeight: height } = page.getOriginalSize();
  if (!hasNotes(document, number)) return { file: 'original.pdf', number, width, height };
  const picture = await drawPage(pageWithForms(document, number), { parameters: { dpi: pictureDpi } });
  files.set(`${number}.png`, await picture.png().toBuffer());
  return { file: `${number}.png`, width, height };
}

export async function assemble(
  pages: readonly PlacedPage[],
  files: ReadonlyMap<string, Uint8Array>,
): Promise<Uint8Array> {
  const source = pages.map(({ file, number, width, height }) => {
    const page = number === undefined ? '' : `, page: ${number + 1}`;
    return `#page(width: ${width}pt, height: ${height}pt, margin: 0pt)[#image("${file}"${page}, width: 100%, height: 100%)]`;
  });
  const { pdf, reason } = await typeset(source.join('\n'), files);
  if (pdf) return pdf;
  throw new ConversionFailure(`The pages could not be put into a PDF: ${oneLine(reason)}`);
}
