import { entriesOf, textOfEntry } from './archive';
import type { ConversionRequest, Warnings } from './conversion';
import { describeMissingGlyphs } from './missing-glyphs';
import { checkPdf } from './pdf-check';
import { lostWords, someWords } from './words';
import { type WordTexts, wordTexts } from './word-document';

/** Whether a reader has handed on the text that a file holds. */

const isWord = ({ route: { reader } }: Pick<ConversionRequest, 'route'>) => reader === 'docx';

/**
 * What pandoc has not handed on of a document: its headers and comments, which it never does, and words. `readAgain` gives the text as
 * it was read, where `output` leaves a doubt: what is written may split words by its markup, or escape letters.
 */
export async function describeUnread(
  request: ConversionRequest,
  input: Buffer,
  { output, readAgain }: { output: Uint8Array; readAgain: () => Promise<string> },
): Promise<Warnings> {
  if (!isWord(request)) return {};
  const texts = wordTexts(input);
  const warnings: Warnings = {};
  const headers = lostWords(texts.headers, '');
  if (headers.length > 0) {
    warnings['HEADERS_LOST'] = `Headers and footers are not in the result: ${someWords(headers)}.`;
  }
  Object.assign(warnings, describeComments(texts));
  if (lostWords(texts.body, textOfOutput(Buffer.from(output))).length === 0) return warnings;
  const lost = lostWords(texts.body, await readAgain());
  if (lost.length > 0) warnings['TEXT_LOST'] = `Not in the result: ${someWords(lost)} of the document.`;
  return warnings;
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
