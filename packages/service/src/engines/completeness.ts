import { entriesOf, textOfEntry } from './archive';
import { type EngineRequest, fewOf, type Warnings } from './conversion';
import { readInputText } from './input';
import { captionsOf } from './documents/latex';
import { textOfBook, textOfMarkup } from './html/marked-texts';
import { describeMissingGlyphs } from './missing-glyphs';
import { type OfficeTexts, officeTexts, undrawnCharts } from './office/office-texts';
import { shownText } from './documents/pandoc-document';
import { checkPdf, describeErrors, withoutErrors } from './pdf/pdf-check';
import { installCommand, isHere, programs } from './programs';
import { plainRichText, richTextOf } from './office/rtf-text';
import { lostWords, someWords } from './words';

/** Checks whether the text of a file has reached the result. */

/** Markup whose tables pandoc cuts to the width of their first row. */
const tabular = /^(dokuwiki|tikiwiki|twiki|vimwiki|jira|creole|textile|org|muse|t2t)$/;
/** XML formats. */
const marked = /^(docbook|fb2|jats)$/;
const tableLine = /^[ \t]*[|^].*$/gm;
/** Parts of a table line that are not cell text: attributes, macros, pictures, link targets. */
const noText = /\b\w+\s*=\s*("[^"]*"|\w+)|\{\{?[^{}]*\}\}?|\[\[[^\]|]*(?:\||\]\[)?|!\S+!|\bhttps?:\S+/g;

/**
 * Warnings for what pandoc has dropped. For office formats: headers, comments and notes, which it always drops, and missing words; for
 * other formats: missing words. `readAgain` returns the parsed document (JSON), for cases in which `output` proves nothing because its
 * markup splits words or escapes letters.
 */
export async function describeUnread(
  request: EngineRequest,
  input: Buffer,
  { output, readAgain }: { output: Uint8Array; readAgain: () => Promise<string> },
): Promise<Warnings> {
  const { reader, writer } = request.route;
  const unread = async (text: string, textOf: (json: string) => string) => {
    if (lostWords(text, textOfOutput(Buffer.from(output))).length === 0) return {};
    return describeLost(lostWords(text, textOf(await readAgain())));
  };
  if (tabular.test(reader)) {
    const { text } = readInputText(input, request.inputFormat);
    const lines = text.match(tableLine)?.join('\n').replace(noText, ' ') ?? '';
    return unread([...new Set(lines.split(/[^\p{L}\p{M}\p{N}]+/u))].join(' '), (json) => json);
  }
  if (reader === 'latex') {
    return unread(captionsOf(readInputText(input, request.inputFormat).text), (json) => shownText(JSON.parse(json)));
  }
  if (reader === 'epub') return unread(textOfBook(input), (json) => json);
  if (marked.test(reader)) return unread(textOfMarkup(readInputText(input, request.inputFormat).text), (json) => json);
  const texts = officeTexts(reader, input);
  if (!texts) return {};
  const warnings = {
    ...{ ...describeCounted(texts, ...aside), ...describeHidden(texts), ...describeHeaders(texts, reader) },
    ...describeCounted(texts, 'drawingCount'),
  };
  if (texts.numbers.length > 0) {
    warnings['NUMBERS_LOST'] =
      `${texts.numbers.length} number(s) that an office program makes for headings and paragraphs are not in the result, or are plain ones: ${fewOf([...new Set(texts.numbers)])}. An office program can save it as PDF.`;
  }
  if (texts.links.length > 0 && writer !== 'plain') {
    warnings['LINKS_LOST'] =
      `Where ${texts.links.length} link(s) of the slides lead is not in the result: ${fewOf([...new Set(texts.links)])}. An office program can save it as PDF.`;
  }
  const rtf = input.toString('latin1');
  // Raw bytes have an unknown encoding, so such text is not checked.
  const { body = /[\x80-\xff]/.test(rtf) ? '' : richTextOf(rtf, { isHidden: false }), art } = texts;
  return { ...warnings, ...(await unread(`${body}\n${art}`, (json) => shownText(JSON.parse(json)))) };
}

/** Warnings for text of a document (JSON) that is missing from the file that pandoc has written. */
export function describeUnset(json: string, output: Uint8Array): Warnings {
  return describeLost(lostWords(shownText(JSON.parse(json)), textOfOutput(Buffer.from(output))));
}

function describeLost(lost: readonly string[]): Warnings {
  return lost.length === 0 ? {} : { TEXT_LOST: `Not in the result: ${someWords(lost)} of the document.` };
}

/** The parts of an office file that are counted before and after, each with the warning for those that were lost. */
const counted = {
  undrawnCount: [
    'DRAWINGS_LOST',
    '$ chart(s) of a kind that LibreOffice does not draw (such as waterfall, funnel or treemap), or object(s) without a picture, are not in the result. Put pictures in their place, or save it as PDF in Office.',
  ],
  insertedCount: [
    'INSERTED_FILES_LOST',
    '$ file(s) that another program has put into the document whole (altChunk) are not in the result. Open it in Word, save it and convert it again.',
  ],
  commentCount: ['COMMENTS_LOST', '$ comment(s) of the document are not in the result.'],
  noteCount: ['NOTES_LOST', "The speaker's notes of $ slide(s) are not in the result."],
  drawingCount: [
    'DRAWINGS_LOST',
    '$ chart(s) or diagram(s) of the document are not in the result. An office program can save it as PDF.',
  ],
  pictureCount: [
    'IMAGES_LOST',
    '$ picture(s) of the document are not in the result, because a txt file cannot contain any. Convert to docx, odt or pdf to keep them.',
  ],
} as const;
type Counted = keyof typeof counted;

/** Parts that no reader passes on. */
const aside = ['undrawnCount', 'insertedCount', 'commentCount', 'noteCount'] as const;

function describeCounted<Kind extends Counted>(counts: Readonly<Record<Kind, number>>, ...kinds: readonly Kind[]) {
  const warnings: Warnings = {};
  for (const kind of kinds.filter((each) => counts[each] > 0)) {
    const [name, says] = counted[kind];
    warnings[name] = says.replace('$', String(counts[kind]));
  }
  return warnings;
}

function describeHeaders({ headers, headerArt, headerPictureCount: pictures }: OfficeTexts, reader: string): Warnings {
  const what = wordsAnd(`${headers}\n${headerArt}`, pictures, 'picture(s)');
  const where =
    reader === 'pptx' ? 'What masters, layouts and backgrounds of the slides show is' : 'Headers and footers are';
  return what === '' ? {} : { HEADERS_LOST: `${where} not in the result: ${what}.` };
}

export function describeHidden({
  hidden,
  hiddenSlideCount,
}: Pick<OfficeTexts, 'hidden' | 'hiddenSlideCount'>): Warnings {
  const what = wordsAnd(hidden, hiddenSlideCount, 'slide(s)');
  if (what === '') return {};
  return { HIDDEN_TEXT_LOST: `Left out, because it is hidden: ${what}. Show it to have it converted.` };
}

/** For example `2 word(s) (ONE, TWO) and 1 picture(s)`; empty if there are none. */
function wordsAnd(text: string, count: number, others: string): string {
  const words = lostWords(text, '');
  return [...(words.length > 0 ? [someWords(words)] : []), ...(count > 0 ? [`${count} ${others}`] : [])].join(' and ');
}

/** LibreOffice drops equations entirely if its Math component is not installed. */
function describeEquations({ equations }: OfficeTexts): Warnings {
  if (equations.length === 0 || isHere(programs.math)) return {};
  return {
    EQUATIONS_LOST: `${equations.length} equation(s) of the document are not in the result. To have them converted, run: ${installCommand([programs.math])}`,
  };
}

/** All text that a program should show. */
function shownTextsOf({ body, art, diagrams, equations }: OfficeTexts): string {
  return [body, art, diagrams, ...(isHere(programs.math) ? equations : [])].join('\n');
}

/**
 * Warnings for what is missing from the printed pages of a document, presentation or spreadsheet. `isCopy`: the pages come from an old
 * file, of which `input` is a copy in a newer format; its equations are pictures.
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
  const losses = { ...describeCounted(texts, ...aside), ...describeHidden(texts), ...describeEquations(texts) };
  return { ...losses, ...(await describePages(request, shownTextsOf(texts), pdf)) };
}

/** Warnings for what is missing from the plain text that a program has written. */
export function describeUnwritten({ route: { reader } }: EngineRequest, input: Buffer, text: Uint8Array): Warnings {
  const texts = officeTexts(reader, input);
  if (!texts) return {};
  const lost = lostWords(shownTextsOf(texts), Buffer.from(text).toString('utf8'));
  return {
    ...{ ...describeCounted(texts, ...aside, 'drawingCount', 'pictureCount'), ...describeHeaders(texts, reader) },
    ...{ ...describeEquations(texts), ...describeLost(lost) },
  };
}

/** Warnings for what is missing from an office file that a program has made from another. */
export async function describeUnkept(
  request: EngineRequest,
  input: Buffer,
  result: { format: string; data: Buffer },
): Promise<Warnings> {
  const { reader } = request.route;
  if (isTable(reader)) return isTable(result.format) ? describeUnkeptCells(request, input, result) : {};
  const [texts, kept] = [officeTexts(reader, input), officeTexts(result.format, result.data)];
  if (!texts || !kept) return {};
  // A file may repeat its headers for each section.
  const headers = [...new Set(texts.headers.split(/\s+/))].join(' ');
  const wanted = [shownTextsOf(texts), headers, ...texts.drawnEquations];
  const { format, data } = result;
  const written = format === 'rtf' ? plainRichText(data.toString('latin1')) : textOfOutput(data);
  const lost = lostWords(wanted.join('\n'), written);
  const [commentCount, noteCount] = [texts.commentCount - kept.commentCount, texts.noteCount - kept.noteCount];
  const counts = describeCounted({ ...texts, commentCount, noteCount }, ...aside);
  return { ...counts, ...describeEquations(texts), ...describeLost(lost) };
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
    ? await (await import('./sheets/sheet-texts.js')).shownTexts(input, reader as 'xlsx' | 'ods')
    : undefined;
  const undrawn = describeCounted({ undrawnCount: undrawnCharts(input) }, 'undrawnCount');
  return {
    ...cells?.warnings,
    ...undrawn,
    ...(await describePages(request, ownText(request, cells?.text), pdf, true)),
  };
}

/** An old spreadsheet is read from LibreOffice's copy, which may contain error values of LibreOffice's own making. */
function ownText({ inputFormat }: EngineRequest, text = ''): string {
  return inputFormat === 'xls' ? withoutErrors(text) : text;
}

function isTable(format: string): boolean {
  return /^(xls|xlsx|ods)$/.test(format);
}

async function describeUnkeptCells(
  request: EngineRequest,
  input: Buffer,
  result: { format: string; data: Buffer },
): Promise<Warnings> {
  const { reader, writer } = request.route;
  const { textsOfCells } = await import('./sheets/sheet-texts.js');
  const [cells, kept] = await Promise.all([
    textsOfCells(input, reader as 'xlsx' | 'ods', { isForOld: writer === 'xls' }),
    textsOfCells(result.data, result.format as 'xlsx' | 'ods'),
  ]);
  if (!cells) return describeErrors('', kept?.shown ?? '');
  const undrawn = describeCounted({ undrawnCount: undrawnCharts(input) }, 'undrawnCount');
  const warnings: Warnings = { ...undrawn };
  if (cells.beyond > 0) {
    warnings['CELLS_LOST'] =
      `${cells.beyond} cell(s) beyond row 65,536 or column 256 (IV), for which an xls file has no room, are not in the result. Convert to xlsx or ods to keep them.`;
  }
  if (!kept) return warnings;
  const comments = cells.commentCount - kept.commentCount;
  if (comments > 0) warnings['COMMENTS_LOST'] = `Comments of ${comments} cell(s) are not in the result.`;
  const lost = describeLost(lostWords(cells.typed, kept.shown));
  return { ...warnings, ...describeErrors(ownText(request, cells.shown), kept.shown), ...lost };
}

/** The text of a result; may contain more than that. */
function textOfOutput(output: Buffer): string {
  const entries = entriesOf(output).filter(({ name }) => /\.(xml|x?html)$/.test(name));
  const all =
    entries.length === 0 ? output.toString('utf8') : entries.map((entry) => textOfEntry(output, entry)).join('\n');
  // WordArt text is an attribute; field instructions are not text.
  const texts = all
    .replace(/<\w+:instrText[\s>][^<]*/g, '')
    .replace(/<\w+:textpath\s[^<>]*?\bstring="([^"]*)"/g, ' $1 <');
  return texts.replace(/<[^<>]*>/g, '');
}
