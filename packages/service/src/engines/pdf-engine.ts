import {
  describeMissing,
  ConversionFailure,
  type EngineRequest,
  type Converted,
  joinWarnings,
  millimetresPerInch,
  oneLine,
  papers,
  type Parameters,
  pointsPerInch,
  type Warnings,
} from './conversion';
import { describeLostPictures, takenPictures } from './documents/document-pictures';
import { describeMissingGlyphs } from './missing-glyphs';
import { inputNameFor, readDocument, runPandoc } from './pandoc-engine';
import { type PdfDocument, preparePdfDocument } from './documents/pdf-document';
import { shownText } from './documents/pandoc-document';
import { checkPdf } from './pdf/pdf-check';
import type { Program } from './engine';
import { installCommand, isHere, programs } from './programs';
import type { Page } from './documents/table-layout';
import { paperOf, signs, typeset } from './typesetter';

const typesetKinds = ['png', 'jpg', 'gif', 'webp', 'svg'];

/** Makes a PDF: pandoc reads the document, typst typesets it. */
export async function convertToPdf(request: EngineRequest, input: Buffer): Promise<Converted> {
  const read = await readDocument(request, input, { to: 'json', options: { 'extract-media': 'media' } });
  const json = Buffer.from(read.data).toString('utf8');
  const page = pageOf(request.parameters);
  const { media, lost } = await takenPictures(read.media, typesetKinds);
  const document = preparePdfDocument(json, { media, keepReferences: true, page });
  const written = await writeTypst(document, request, page);
  const missing = describeMissing(document.missing.filter((name) => !lost.has(name)));
  const warnings: Warnings = { ...read.warnings, ...written.warnings, ...missing, ...describeLostPictures(lost) };
  const first = await typeset(written.source, document.images);
  const glyphs = await describeMissingGlyphs(shownText(JSON.parse(document.json)));
  Object.assign(warnings, glyphs.warnings, describeLayout(request, input));
  if (first.pdf) {
    const found = await checkSet(first.pdf, glyphs.shown, { ...document, ...written });
    return { data: first.pdf, warnings: joinWarnings(warnings, found) };
  }

  // One broken image or label makes typst fail: better a PDF without them than none.
  const simple = preparePdfDocument(json, { media: new Map(), keepReferences: false, page });
  const rewritten = await writeTypst(simple, request, page);
  const second = await typeset(rewritten.source, simple.images);
  if (!second.pdf) throw new ConversionFailure(`The document could not be typeset as PDF: ${oneLine(second.reason)}`);
  warnings['PDF_SIMPLIFIED'] =
    `Images and links within the document were left out, because it does not typeset with them: ${oneLine(first.reason)}`;
  return { data: second.pdf, warnings };
}

/** Points and vowels of Hebrew and Arabic. */
const points = /(?=[\u0591-\u06ed])\p{M}/gu;

/**
 * Points split the letters that are read back, and overlap them, so a copy without points is checked instead, on the same lines. Words
 * that it lacks are lost.
 */
async function checkSet(
  pdf: Uint8Array,
  text: string,
  { source, images }: { source: string; images: ReadonlyMap<string, Uint8Array> },
): Promise<Warnings> {
  const found = await checkPdf(pdf, { text, isSet: true });
  if (Object.keys(found).length === 0 || text.search(points) === -1) return found;
  const { pdf: bare } = await typeset(source.replace(points, ''), images);
  return bare ? checkPdf(bare, { text, isSet: true }) : found;
}

/** The program that prints each format with its own layout. */
const printers: Readonly<Record<string, Program>> = {
  docx: programs.writer,
  odt: programs.writer,
  rtf: programs.writer,
  pptx: programs.impress,
  xlsx: programs.calc,
  ods: programs.calc,
  html: programs.chromium,
};

function describeLayout({ route: { reader }, inputFormat, parameters }: EngineRequest, input: Buffer): Warnings {
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

const defaultMarginInches = 1.25;

function pageOf({ page_size: size = 'a4', margin }: Parameters): Page {
  const [width, height] = papers[size];
  const inches = margin === undefined ? defaultMarginInches : margin / millimetresPerInch;
  return { width: width * pointsPerInch, height: height * pointsPerInch, margin: inches * pointsPerInch };
}

/** Definitions that pandoc's typst code needs. Its own template would keep definitions and figures on one page, and is slow. */
const definitions = `#let horizontalrule = line(start: (25%, 0%), end: (75%, 0%))
#set table(inset: 6pt, stroke: none)
#set par(justify: true)
#show figure: set block(breakable: true)
#show figure.where(kind: table): set figure.caption(position: top)
#show figure.where(kind: image): set figure.caption(position: bottom)
#show terms.item: it => block[#text(weight: "bold")[#it.term] #block(inset: (left: 1.5em, top: -0.4em))[#it.description]]
${signs}`;

async function writeTypst(
  { json, properties: { title, authors, keywords, lang, region } }: PdfDocument,
  request: EngineRequest,
  { margin }: Page,
): Promise<{ source: string; warnings: Warnings }> {
  const inputName = inputNameFor(request);
  const { data, warnings } = await runPandoc({ from: 'json', to: 'typst', input: json, inputName });
  const list = (texts: readonly string[]) => `(${texts.map((text) => `${JSON.stringify(text)}, `).join('')})`;
  const head = [
    definitions,
    `#set page(paper: "${paperOf(request.parameters.page_size ?? 'a4')}", margin: ${margin}pt, numbering: "1")`,
    `#set text(size: 11pt, lang: "${lang}"${region === undefined ? '' : `, region: "${region}"`})`,
    `#set document(author: ${list(authors)}, keywords: ${list(keywords)})`,
    ...(title === '' ? [] : [`#set document(title: ${JSON.stringify(title)})`]),
  ];
  return { source: `${head.join('\n')}\n\n${Buffer.from(data).toString('utf8')}`, warnings };
}
