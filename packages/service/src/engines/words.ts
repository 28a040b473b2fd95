import { fewOf } from './conversion';

/** Whether the words of a text are in another, whatever has become of lines, hyphens, ligatures and signs in between. */

/** Letters that a PDF gives back as they were written. Those of other scripts are set in another order, or in pieces. */
const word =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]|[\p{N}\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Armenian}]+/gu;
const notALetter = /[^\p{L}\p{N}]+/gu;
/** What is longer is looked for in pieces: it stands on several lines, or pages. */
const piece = /.{10}/gu;
const longestWord = 40;

function normalise(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/\p{M}|\u00ad|\u200b/gu, '')
    .toUpperCase();
}

function countWords(text: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const [found] of normalise(text).matchAll(word)) {
    const pieces = found.length > longestWord ? (found.match(piece) ?? []) : [found];
    for (const each of pieces) counts.set(each, (counts.get(each) ?? 0) + 1);
  }
  return counts;
}

/** The words of a text that the pages of another do not have, or not as often; in capitals, without accents. */
export function lostWords(text: string, ...pages: readonly string[]): string[] {
  const wanted = countWords(text);
  const all = pages.join('\n');
  const there = countWords(all);
  const lacking = [...wanted].filter(([each, times]) => (there.get(each) ?? 0) < times);
  if (lacking.length === 0) return [];
  const run = runOf(all);
  const lost = lacking.flatMap(([each, times]) => {
    const found = Math.max(...asSet(each).map((way) => occurrences(run, way, times)));
    return found < times ? [{ each, times: times - found }] : [];
  });
  const endsThatSplit = lost.length > mostSplit ? () => 0 : splitWords(pages);
  return lost.flatMap(({ each, times }) => {
    const split = splitAtAnEnd * endsThatSplit(each);
    return Array.from({ length: Math.max(0, times - split) }, () => each);
  });
}

/** As a page may give a word back: as it was written; from right to left; or there with its digits before its letters. */
function asSet(each: string): string[] {
  const parts = each.match(/\p{N}+|\P{N}+/gu) ?? [];
  return [each, Array.from(each).reverse().join(''), parts.reverse().join('')];
}

/** More words are not split at the ends of pages, nor one word more often at one: in cells beside each other. */
const [mostSplit, splitAtAnEnd] = [300, 2];

/** The letters of a text, without what stands between them. */
function runOf(text: string): string {
  return normalise(text).replace(notALetter, '');
}

/** Up to `most`. */
function occurrences(text: string, part: string, most: number): number {
  let count = 0;
  for (let at = text.indexOf(part); at !== -1 && count < most; at = text.indexOf(part, at + part.length)) count += 1;
  return count;
}

/** At the ends of how many pages a word may begin at the end of a line and end on the next, with or without a hyphen, whatever stands in between. */
function splitWords(pages: readonly string[]): (word: string) => number {
  // PDFium writes U+FFFE for a hyphen at the end of a line.
  const read = pages.map((page) => {
    const ends = page.matchAll(/([\p{L}\p{N}]+)(?:\ufffe|[-\u00ad\u2010]?\s*(?:\n|$))/gu);
    const lastInLine = Array.from(new Set(Array.from(ends, ([, end = '']) => normalise(end))));
    return { run: runOf(page), lastInLine, words: [...countWords(page).keys()] };
  });
  const parts = (whole: string) => Array.from(whole, (_, index) => index).slice(1);
  return (whole) =>
    read.filter(({ run, lastInLine }, page) =>
      parts(whole).some((at) => {
        const [start, end] = [whole.slice(0, at), whole.slice(at)];
        // The word may be a piece of a longer one, or be split more than once.
        if (!run.includes(start) || !lastInLine.some((last) => last.endsWith(start) || start.endsWith(last)))
          return false;
        // Of what a page ends with something may be printed below it, as notes are.
        return [read[page], read[page + 1]].some(
          (next) =>
            next?.run.includes(end) === true &&
            next.words.some((first) => first.startsWith(end) || end.startsWith(first)),
        );
      }),
    ).length;
}

/** `3 word(s) (ONE, TWO, THREE)` */
export function someWords(words: readonly string[]): string {
  return `${words.length} word(s) (${fewOf([...new Set(words)])})`;
}
