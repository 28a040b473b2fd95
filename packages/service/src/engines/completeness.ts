import { entriesOf, textOfEntry } from './archive';
import { type EngineRequest, fewOf, type Warnings } from './conversion';
import { readInputText } from './input';
import { captionsOf } from './latex';
import { describeMissingGlyphs } from './missing-glyphs';
import { type OfficeTexts, officeTexts } from './office-texts';
import { shownText } from './pandoc-document';
import { checkPdf } from './pdf-check';
import { isHere } from './programs';
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
    const captions = captionsOf(readInputText(input, request.inputFormat).text);
    if (lostWords(captions, textOfOutput(Buffer.from(output))).length === 0) return {};
    return describeLost(lostWords(captions, shownText(JSON.parse(await readAgain()))));
  }
  const texts = officeTexts(request.route.reader, input);
  if (!texts) return {};
  const warnings = describeAside(texts);
  const hidden = lostWords(texts.hidden, '');
  if (hidden.length > 0 || texts.hiddenSlideCount > 0) {
    const what = hidden.length > 0 ? someWords(hidden) : `${texts.hiddenSlideCount} slide(s)`;
    warnings['HIDDEN_TEXT_LOST'] = `Left out, because it is hidden: ${what}. Show it to have it converted.`;
  }
  if (texts.numbers.length > 0) {
    warnings['NUMBERS_LOST'] =
      `${texts.numbers.length} number(s) of headings and paragraphs that Word makes are not in the result, or are plain ones: ${fewOf([...new Set(texts.numbers)])}. An office program can save it as PDF.`;
  }
  Object.assign(warnings, describeHeaders(texts));
  if (texts.drawingCount > 0) {
    warnings['DRAWINGS_LOST'] =
      `${texts.drawingCount} chart(s) or diagram(s) of the document are not in the result. An office program can save it as PDF.`;
  }
  const { body = '' } = texts;
  if (lostWords(body, textOfOutput(Buffer.from(output))).length === 0) return warnings;
  return { ...warnings, ...describeLost(lostWords(body, shownText(JSON.parse(await readAgain())))) };
}

function describeLost(lost: readonly string[]): Warnings {
  return lost.length === 0 ? {} : { TEXT_LOST: `Not in the result: ${someWords(lost)} of the document.` };
}

function describeHeaders({ headers, headerArt, headerPictureCount: pictures }: OfficeTexts): Warnings {
  const words = lostWords(`${headers}\n${headerArt}`, '');
  if (words.length === 0 && pictures === 0) return {};
  const what = [...(words.length > 0 ? [someWords(words)] : []), ...(pictures > 0 ? [`${pictures} picture(s)`] : [])];
  return { HEADERS_LOST: `Headers and footers are not in the result: ${what.join(' and ')}.` };
}

/** What no reader hands on. */
function describeAside({ commentCount, noteCount, insertedCount }: OfficeTexts): Warnings {
  const warnings: Warnings = {};
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

/** What of a document, of slides or of a spreadsheet is not on the pages that a program has printed. */
export async function describeUnprinted(request: EngineRequest, input: Buffer, pdf: Uint8Array): Promise<Warnings> {
  const { reader } = request.route;
  if (/^(xls|xlsx|ods)$/.test(reader)) return describeUnprintedCells(request, input, pdf);
  const texts = officeTexts(reader, input);
  if (!texts) return {};
  const text = texts.body === undefined ? undefined : `${texts.body}\n${texts.diagrams}`;
  return { ...describeAside(texts), ...(await describePages(request, text, pdf)) };
}

/** What of a document is not in the plain text that a program has written. */
export function describeUnwritten({ route: { reader } }: EngineRequest, input: Buffer, text: Uint8Array): Warnings {
  const texts = officeTexts(reader, input);
  if (!texts) return {};
  const lost = lostWords(texts.body ?? '', Buffer.from(text).toString('utf8'));
  return { ...describeAside(texts), ...describeHeaders(texts), ...describeLost(lost) };
}

async function describePages(
  request: EngineRequest,
  body: string | undefined,
  pdf: Uint8Array,
  isSheet = false,
): Promise<Warnings> {
  const { warnings, shown } = await describeMissingGlyphs(body ?? '');
  const text = request.parameters.pages === undefined ? shown : '';
  return { ...warnings, ...(await checkPdf(pdf, { text, isSet: false, isSheet })) };
}

async function describeUnprintedCells(request: EngineRequest, input: Buffer, pdf: Uint8Array): Promise<Warnings> {
  const { reader } = request.route;
  const isRead = reader !== 'xls' && isHere({ npm: '@e965/xlsx' });
  const cells = isRead
    ? await (await import('./spreadsheet.js')).shownTexts(input, reader as 'xlsx' | 'ods')
    : undefined;
  return { ...cells?.warnings, ...(await describePages(request, cells?.text, pdf, true)) };
}

/** The text of a result, or more than that. */
function textOfOutput(output: Buffer): string {
  const entries = entriesOf(output).filter(({ name }) => /\.(xml|x?html)$/.test(name));
  const all =
    entries.length === 0 ? output.toString('utf8') : entries.map((entry) => textOfEntry(output, entry)).join('\n');
  return all.replace(/<[^<>]*>/g, '');
}
