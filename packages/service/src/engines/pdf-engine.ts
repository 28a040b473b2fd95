import {
  ConversionFailure,
  type ConversionRequest,
  type Converted,
  millimetresPerInch,
  oneLine,
  papers,
  type Parameters,
  pointsPerInch,
  type Warnings,
} from './conversion';
import { describeMissingGlyphs } from './missing-glyphs';
import { describeMissing, inputNameFor, readDocument, runPandoc } from './pandoc-engine';
import { type PdfDocument, preparePdfDocument } from './pdf-document';
import { shownText } from './pandoc-document';
import { checkPdf } from './pdf-check';
import type { Program } from './engine';
import { installCommand, isHere, programs } from './programs';
import type { Page } from './table-layout';
import { paperOf, signs, typeset } from './typesetter';

/** Makes a PDF: pandoc reads the document, typst typesets it. */
export async function convertToPdf(request: ConversionRequest, input: Buffer): Promise<Converted> {
  const read = await readDocument(request, input, { to: 'json', options: { 'extract-media': 'media' } });
  const json = Buffer.from(read.data).toString('utf8');
  const page = pageOf(request.parameters);
  const document = preparePdfDocument(json, { media: read.media, keepReferences: true, page });
  const written = await writeTypst(document, inputNameFor(request), request.parameters);
  const warnings: Warnings = { ...read.warnings, ...written.warnings, ...describeMissing(document.missing) };
  const first = await typeset(written.source, document.images);
  const glyphs = await describeMissingGlyphs(shownText(JSON.parse(document.json)));
  Object.assign(warnings, glyphs.warnings, describeLayout(request, input));
  if (first.pdf) {
    const { TEXT_LOST, ...found } = await checkPdf(first.pdf, { text: glyphs.shown, isSet: true });
    const lost = [warnings['TEXT_LOST'], TEXT_LOST].filter(Boolean).join(' ');
    return { data: first.pdf, warnings: { ...warnings, ...found, ...(lost !== '' && { TEXT_LOST: lost }) } };
  }

  // One broken image or label makes typst fail: better a PDF without them than none.
  const simple = preparePdfDocument(json, { media: new Map(), keepReferences: false, page });
  const rewritten = await writeTypst(simple, inputNameFor(request), request.parameters);
  const second = await typeset(rewritten.source, simple.images);
  if (!second.pdf) throw new ConversionFailure(`The document could not be typeset as PDF: ${oneLine(second.reason)}`);
  warnings['PDF_SIMPLIFIED'] =
    `Images and links within the document were left out, because it does not typeset with them: ${oneLine(first.reason)}`;
  return { data: second.pdf, warnings };
}

/** What prints documents that have a look of their own. */
const printers: Readonly<Record<string, Program>> = {
  docx: programs.writer,
  odt: programs.writer,
  rtf: programs.writer,
  pptx: programs.impress,
  xlsx: programs.calc,
  ods: programs.calc,
  html: programs.chromium,
};

function describeLayout({ route: { reader }, inputFormat, parameters }: ConversionRequest, input: Buffer): Warnings {
  const printer = printers[reader];
  const hasLook = reader !== 'html' || /<style|\sstyle\s*=|stylesheet/i.test(input.toString('latin1'));
  if (!printer || !hasLook) return {};
  const options = Object.keys(parameters).join(' and ');
  const instead = isHere(printer)
    ? options === ''
      ? ''
      : ` Leave out ${options} to have it printed as it looks.`
    : ` To have it printed as it looks, run: ${installCommand([printer])}`;
  const message = `The PDF is set anew from the structure of the ${inputFormat} file: its fonts, colours and pages are not kept.${instead}`;
  return { LAYOUT_NOT_KEPT: message };
}

const placeholder = 'thetextofthedocument';

/** What pandoc writes before and after the text of a document without metadata, by what it is asked for: always the same. */
const frames = new Map<string, { before: string; after: string }>();

/** Of pandoc's template for typst. */
const usualMarginInches = 1.25;

/** What pandoc's own template keeps on one page, and typst prints over the foot of the page when it is longer. */
const breakable = `#show figure: set block(breakable: true)
#show terms.item: it => block[#text(weight: "bold")[#it.term] #block(inset: (left: 1.5em, top: -0.4em))[#it.description]]`;

/** The page that is asked for, as pandoc's template for typst wants it. */
export function layoutOf({ page_size: size = 'a4', margin }: Parameters) {
  const variables = {
    'header-includes': `${breakable}\n${signs}`,
    papersize: paperOf(size),
    ...(margin !== undefined && { margin: { x: `${margin}mm`, y: `${margin}mm` } }),
  };
  return { standalone: true, variables };
}

/** The same, in points. */
function pageOf({ page_size: size = 'a4', margin }: Parameters): Page {
  const [width, height] = papers[size];
  const inches = margin === undefined ? usualMarginInches : margin / millimetresPerInch;
  return { width: width * pointsPerInch, height: height * pointsPerInch, margin: inches * pointsPerInch };
}

/**
 * Writes a document as typst source. For a page of text, pandoc spends most of its time on the template, which depends on nothing
 * but metadata: without metadata, the text is put into a frame that is made once.
 */
export async function writeTypst(
  document: PdfDocument,
  inputName: string,
  parameters: Parameters = {},
): ReturnType<typeof run> {
  const layout = layoutOf(parameters);
  if (document.hasMetadata) return run(document.json, inputName, layout);
  const key = JSON.stringify(layout);
  const frame = frames.get(key) ?? (await makeFrame(document, inputName, layout));
  frames.set(key, frame);
  const { source, warnings } = await run(document.json, inputName, {});
  return { source: frame.before + source.replace(/\n$/, '') + frame.after, warnings };
}

async function makeFrame({ json }: PdfDocument, inputName: string, layout: Record<string, unknown>) {
  const blocks = [{ t: 'Para', c: [{ t: 'Str', c: placeholder }] }];
  const { source } = await run(JSON.stringify({ ...(JSON.parse(json) as object), blocks }), inputName, layout);
  const [before = '', after = ''] = source.split(placeholder);
  return { before, after };
}

async function run(json: string, inputName: string, options: Record<string, unknown>) {
  const { data, warnings } = await runPandoc({ from: 'json', to: 'typst', input: json, inputName, options });
  return { source: Buffer.from(data).toString('utf8'), warnings };
}
