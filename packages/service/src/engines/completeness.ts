import { entriesOf, textOfEntry } from './archive';
import { type EngineRequest, fewOf, type Warnings } from './conversion';
import { readInputText } from './input';
import { captionsOf } from './latex';
import { withoutFalse } from './latex-conditions';
import { describeMissingGlyphs } from './missing-glyphs';
import { type OfficeTexts, officeTexts, undrawnCharts } from './office-texts';
import { shownText } from './pandoc-document';
import { checkPdf, describeErrors } from './pdf-check';
import { installCommand, isHere, programs } from './programs';
import { plainRichText, richTextOf } from './rtf-text';
import { lostWords, someWords } from './words';

/** Whether a reader has handed on the text that a file holds. */

/** Markup whose tables pandoc reads as wide as their first row. */
const tabular = /^(dokuwiki|tikiwiki|twiki|vimwiki|jira|creole|textile|org|muse|t2t)$/;
const tableLine = /^[ \t]*[|^].*$/gm;
/** What of a line is no text of a cell: attributes, macros, pictures, and where links lead. */
const noText = /\b\w+\s*=\s*("[^"]*"|\w+)|\{\{?[^{}]*\}\}?|\[\[[^\]|]*(?:\||\]\[)?|!\S+!|\bhttps?:\S+/g;

/**
 * What pandoc has not handed on of a document: of office programs' its headers, comments and notes, which it never does, and words; of
 * others words of tables. `readAgain` gives the document (JSON) as it was read, where `output` leaves a doubt: what is written may split words by its
 * markup, or escape letters.
 */
export async function describeUnread(
  request: EngineRequest,
  input: Buffer,
  { output, readAgain }: { output: Uint8Array; readAgain: () => Promise<string> },
): Promise<Warnings> {
  if (tabular.test(request.route.reader)) {
    const { text } = readInputText(input, request.inputFormat);
    const lines = text.match(tableLine)?.join('\n').replace(noText, ' ') ?? '';
    const all = [...new Set(lines.split(/[^\p{L}\p{M}\p{N}]+/u))].join(' ');
    if (lostWords(all, textOfOutput(Buffer.from(output))).length === 0) return {};
    return describeLost(lostWords(all, await readAgain()));
  }
  if (request.route.reader === 'latex') {
    const captions = captionsOf(withoutFalse(readInputText(input, request.inputFormat).text).text);
    if (lostWords(captions, textOfOutput(Buffer.from(output))).length === 0) return {};
    return describeLost(lostWords(captions, shownText(JSON.parse(await readAgain()))));
  }
  const texts = officeTexts(request.route.reader, input);
  if (!texts) return {};
  const warnings = { ...describeAside(texts), ...describeHidden(texts) };
  if (texts.numbers.length > 0) {
    warnings['NUMBERS_LOST'] =
      `${texts.numbers.length} number(s) of headings and paragraphs that Word makes are not in the result, or are plain ones: ${fewOf([...new Set(texts.numbers)])}. An office program can save it as PDF.`;
  }
  if (texts.links.length > 0 && request.route.writer !== 'plain') {
    warnings['LINKS_LOST'] =
      `Where ${texts.links.length} link(s) of the slides lead is not in the result: ${fewOf([...new Set(texts.links)])}. An office program can save it as PDF.`;
  }
  Object.assign(warnings, describeHeaders(texts, request.route.reader), describeDrawings(texts));
  const body = `${texts.body ?? bodyOfRichText(input.toString('latin1'))}\n${texts.art}`;
  if (lostWords(body, textOfOutput(Buffer.from(output))).length === 0) return warnings;
  return { ...warnings, ...describeLost(lostWords(body, shownText(JSON.parse(await readAgain())))) };
}

/** Of what has letters as bytes of whatever encoding nothing is known. */
function bodyOfRichText(rtf: string): string {
  return /[\x80-\xff]/.test(rtf) ? '' : richTextOf(rtf, { isHidden: false });
}

/** What of a document (JSON) is not in the file that pandoc has written of it. */
export function describeUnset(json: string, output: Uint8Array): Warnings {
  return describeLost(lostWords(shownText(JSON.parse(json)), textOfOutput(Buffer.from(output))));
}

function describeLost(lost: readonly string[]): Warnings {
  return lost.length === 0 ? {} : { TEXT_LOST: `Not in the result: ${someWords(lost)} of the document.` };
}

function describeHeaders({ headers, headerArt, headerPictureCount: pictures }: OfficeTexts, reader: string): Warnings {
  const words = lostWords(`${headers}\n${headerArt}`, '');
  if (words.length === 0 && pictures === 0) return {};
  const what = [...(words.length > 0 ? [someWords(words)] : []), ...(pictures > 0 ? [`${pictures} picture(s)`] : [])];
  const where = reader === 'pptx' ? 'What the masters and layouts of the slides show is' : 'Headers and footers are';
  return { HEADERS_LOST: `${where} not in the result: ${what.join(' and ')}.` };
}

function describeDrawings({ drawingCount }: OfficeTexts): Warnings {
  if (drawingCount === 0) return {};
  return {
    DRAWINGS_LOST: `${drawingCount} chart(s) or diagram(s) of the document are not in the result. An office program can save it as PDF.`,
  };
}

function describePictures({ pictureCount }: OfficeTexts): Warnings {
  if (pictureCount === 0) return {};
  return {
    IMAGES_LOST: `${pictureCount} picture(s) of the document are not in the result, because a txt file cannot contain any. Convert to docx, odt or pdf to keep them.`,
  };
}

export function describeHidden({
  hidden,
  hiddenSlideCount,
}: Pick<OfficeTexts, 'hidden' | 'hiddenSlideCount'>): Warnings {
  const words = lostWords(hidden, '');
  if (words.length === 0 && hiddenSlideCount === 0) return {};
  const what = [
    ...(words.length > 0 ? [someWords(words)] : []),
    ...(hiddenSlideCount > 0 ? [`${hiddenSlideCount} slide(s)`] : []),
  ];
  return { HIDDEN_TEXT_LOST: `Left out, because it is hidden: ${what.join(' and ')}. Show it to have it converted.` };
}

/** What LibreOffice leaves out whole where its part for equations is not installed. */
function describeEquations({ equations }: OfficeTexts): Warnings {
  if (equations.length === 0 || isHere(programs.math)) return {};
  return {
    EQUATIONS_LOST: `${equations.length} equation(s) of the document are not in the result. To have them converted, run: ${installCommand([programs.math])}`,
  };
}

/** All that a program should show of a document. */
function shownTextsOf({ body, art, diagrams, equations }: OfficeTexts): string {
  return [body, art, diagrams, ...(isHere(programs.math) ? equations : [])].join('\n');
}

function describeUndrawn(count: number): Warnings {
  if (count === 0) return {};
  return {
    DRAWINGS_LOST: `${count} chart(s) of a kind that LibreOffice does not draw (such as waterfall, funnel or treemap) are not in the result. Put pictures in their place, or save it as PDF in Office.`,
  };
}

/** What no reader hands on. */
function describeAside({ commentCount, noteCount, insertedCount, undrawnCount }: OfficeTexts): Warnings {
  const warnings: Warnings = describeUndrawn(undrawnCount);
  if (insertedCount > 0) {
    warnings['INSERTED_FILES_LOST'] =
      `${insertedCount} file(s) that another program has put into the document whole (altChunk) are not in the result. Open it in Word, save it and convert it again.`;
  }
  if (commentCount > 0) {
    warnings['COMMENTS_LOST'] = `${commentCount} comment(s) of the document are not in the result.`;
  }
  if (noteCount > 0) warnings['NOTES_LOST'] = `The speaker's notes of ${noteCount} slide(s) are not in the result.`;
  return warnings;
}

/**
 * What of a document, of slides or of a spreadsheet is not on the pages that a program has printed. `isCopy`: not the input was printed,
 * but an old file that it was made of, whose equations are pictures.
 */
export async function describeUnprinted(
  request: EngineRequest,
  input: Buffer,
  pdf: Uint8Array,
  { isCopy = false }: { isCopy?: boolean } = {},
): Promise<Warnings> {
  const { reader } = request.route;
  if (isTable(reader)) return describeUnprintedCells(request, input, pdf);
  const all = officeTexts(reader, input);
  if (!all) return {};
  const texts = { ...all, art: '', ...(isCopy && { equations: [] }) };
  const losses = { ...describeAside(texts), ...describeHidden(texts), ...describeEquations(texts) };
  return { ...losses, ...(await describePages(request, shownTextsOf(texts), pdf)) };
}

/** What of a document is not in the plain text that a program has written. */
export function describeUnwritten({ route: { reader } }: EngineRequest, input: Buffer, text: Uint8Array): Warnings {
  const texts = officeTexts(reader, input);
  if (!texts) return {};
  const lost = lostWords(shownTextsOf(texts), Buffer.from(text).toString('utf8'));
  return {
    ...{ ...describeAside(texts), ...describeHeaders(texts, reader), ...describeEquations(texts) },
    ...{ ...describeDrawings(texts), ...describePictures(texts), ...describeLost(lost) },
  };
}

/** What of an office file is not in another that a program has made of it. */
export async function describeUnkept(
  { route: { reader, writer } }: EngineRequest,
  input: Buffer,
  result: { format: string; data: Buffer },
): Promise<Warnings> {
  if (isTable(reader)) return isTable(result.format) ? describeUnkeptCells({ reader, writer }, input, result) : {};
  const [texts, kept] = [officeTexts(reader, input), officeTexts(result.format, result.data)];
  if (!texts || !kept) return {};
  // Headers may be in a file once for each of its sections.
  const headers = [...new Set(texts.headers.split(/\s+/))].join(' ');
  const wanted = [shownTextsOf(texts), headers, ...texts.drawnEquations];
  const lost = lostWords(wanted.join('\n'), textOfResult(result));
  const aside = {
    ...texts,
    commentCount: texts.commentCount - kept.commentCount,
    noteCount: texts.noteCount - kept.noteCount,
  };
  return { ...describeAside(aside), ...describeEquations(texts), ...describeLost(lost) };
}

async function describePages(
  request: EngineRequest,
  body: string,
  pdf: Uint8Array,
  isSheet = false,
): Promise<Warnings> {
  const { warnings, shown } = await describeMissingGlyphs(body);
  const text = request.parameters.pages === undefined ? shown : '';
  return { ...warnings, ...(await checkPdf(pdf, { text, isSet: false, isSheet })) };
}

async function describeUnprintedCells(request: EngineRequest, input: Buffer, pdf: Uint8Array): Promise<Warnings> {
  const { reader } = request.route;
  const isRead = reader !== 'xls' && isHere({ npm: '@e965/xlsx' });
  const cells = isRead
    ? await (await import('./sheet-texts.js')).shownTexts(input, reader as 'xlsx' | 'ods')
    : undefined;
  const undrawn = describeUndrawn(undrawnCharts(input));
  return { ...cells?.warnings, ...undrawn, ...(await describePages(request, cells?.text ?? '', pdf, true)) };
}

function isTable(format: string): boolean {
  return /^(xls|xlsx|ods)$/.test(format);
}

async function describeUnkeptCells(
  { reader, writer }: { reader: string; writer: string },
  input: Buffer,
  result: { format: string; data: Buffer },
): Promise<Warnings> {
  const { textsOfCells } = await import('./sheet-texts.js');
  const [cells, kept] = await Promise.all([
    textsOfCells(input, reader as 'xlsx' | 'ods', { isForOld: writer === 'xls' }),
    textsOfCells(result.data, result.format as 'xlsx' | 'ods'),
  ]);
  if (!cells) return {};
  const beyond: Warnings =
    cells.beyond === 0
      ? {}
      : {
          CELLS_LOST: `${cells.beyond} cell(s) beyond row 65,536 or column 256 (IV), for which an xls file has no room, are not in the result. Convert to xlsx or ods to keep them.`,
        };
  const undrawn = describeUndrawn(undrawnCharts(input));
  if (!kept) return { ...beyond, ...undrawn };
  const comments = cells.commentCount - kept.commentCount;
  return {
    ...beyond,
    ...undrawn,
    ...(comments > 0 && { COMMENTS_LOST: `Comments of ${comments} cell(s) are not in the result.` }),
    ...describeErrors(cells.shown, kept.shown),
    ...describeLost(lostWords(cells.typed, kept.shown)),
  };
}

function textOfResult({ format, data }: { format: string; data: Buffer }): string {
  return format === 'rtf' ? plainRichText(data.toString('latin1')) : textOfOutput(data);
}

/** The text of a result, or more than that. */
function textOfOutput(output: Buffer): string {
  const entries = entriesOf(output).filter(({ name }) => /\.(xml|x?html)$/.test(name));
  const all =
    entries.length === 0 ? output.toString('utf8') : entries.map((entry) => textOfEntry(output, entry)).join('\n');
  // What is drawn is an attribute; what a field does is no text.
  const texts = all
    .replace(/<\w+:instrText[\s>][^<]*/g, '')
    .replace(/<\w+:textpath\s[^<>]*?\bstring="([^"]*)"/g, ' $1 <');
  return texts.replace(/<[^<>]*>/g, '');
}
