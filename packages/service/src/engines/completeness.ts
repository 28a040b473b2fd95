import { entriesOf, textOfEntry } from './archive';
import type { ConversionRequest, Warnings } from './conversion';
import { readInputText } from './input';
import { describeMissingGlyphs } from './missing-glyphs';
import { shownText } from './pandoc-document';
import { checkPdf } from './pdf-check';
import { lostWords, someWords } from './words';
import { type WordTexts, wordTexts } from './word-document';

/** Whether a reader has handed on the text that a file holds. */

const isWord = ({ route: { reader } }: Pick<ConversionRequest, 'route'>) => reader === 'docx';

/** Markup whose tables pandoc reads as wide as their first row. */
const tabular = /^(dokuwiki|tikiwiki|twiki|vimwiki|jira|creole|textile|org|muse|t2t)$/;
const tableLine = /^[ \t]*[|^].*$/gm;
/** What of a line is no text of a cell: attributes, macros, pictures, and where links lead. */
const noText = /\b\w+\s*=\s*("[^"]*"|\w+)|\{\{?[^{}]*\}\}?|\[\[[^\]|]*(?:\||\]\[)?|!\S+!|\bhttps?:\S+/g;

/**
 * What pandoc has not handed on of a document: of Word's its headers and comments, which it never does, and words; of others words of
 * tables. `readAgain` gives the document (JSON) as it was read, where `output` leaves a doubt: what is written may split words by its
 * markup, or escape letters.
 */
export async function describeUnread(
  request: ConversionRequest,
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
  if (!isWord(request)) return {};
  const texts = wordTexts(input);
  const warnings: Warnings = {};
  const headers = lostWords(texts.headers, '');
  if (headers.length > 0) {
    warnings['HEADERS_LOST'] = `Headers and footers are not in the result: ${someWords(headers)}.`;
  }
  Object.assign(warnings, describeComments(texts));
  if (lostWords(texts.body, textOfOutput(Buffer.from(output))).length === 0) return warnings;
  const read = shownText(JSON.parse(await readAgain()));
  return { ...warnings, ...describeLost(lostWords(texts.body, read)) };
}

function describeLost(lost: readonly string[]): Warnings {
  return lost.length === 0 ? {} : { TEXT_LOST: `Not in the result: ${someWords(lost)} of the document.` };
}

function describeComments({ commentCount }: WordTexts): Warnings {
  return commentCount === 0
    ? {}
    : { COMMENTS_LOST: `${commentCount} comment(s) of the document are not in the result.` };
}

/** What of a document is not on the pages that a program has printed. */
export async function describeUnprinted(request: ConversionRequest, input: Buffer, pdf: Uint8Array): Promise<Warnings> {
  if (!isWord(request)) return {};
  const texts = wordTexts(input);
  const { warnings, shown } = await describeMissingGlyphs(texts.body);
  const text = request.parameters.pages === undefined ? shown : '';
  return { ...warnings, ...describeComments(texts), ...(await checkPdf(pdf, { text, isSet: false })) };
}

/** The text of a result, or more than that. */
function textOfOutput(output: Buffer): string {
  const entries = entriesOf(output).filter(({ name }) => /\.(xml|x?html)$/.test(name));
  const all =
    entries.length === 0 ? output.toString('utf8') : entries.map((entry) => textOfEntry(output, entry)).join('\n');
  return all.replace(/<[^<>]*>/g, '');
}
