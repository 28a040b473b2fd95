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

/** The words of a text that another does not have, or not as often; in capitals, without accents. */
export function lostWords(text: string, within: string): string[] {
  const wanted = countWords(text);
  const there = countWords(within);
  const lacking = [...wanted].filter(([each, times]) => (there.get(each) ?? 0) < times);
  if (lacking.length === 0) return [];
  const run = normalise(within).replace(notALetter, '');
  const isSplit = splitWords(within);
  return lacking.flatMap(([each, times]) => {
    const found = Math.max(occurrences(run, each, times), occurrences(run, Array.from(each).reverse().join(''), times));
    const lost = times - found;
    return lost > 0 && !isSplit(each) ? Array.from({ length: lost }, () => each) : [];
  });
}

/** Up to `most`. */
function occurrences(text: string, part: string, most: number): number {
  let count = 0;
  for (let at = text.indexOf(part); at !== -1 && count < most; at = text.indexOf(part, at + part.length)) count += 1;
  return count;
}

/** Words that a hyphen splits where a page, or a column, ends: what stands between their halves is not of them. */
function splitWords(text: string): (word: string) => boolean {
  const normal = (found: Iterable<RegExpExecArray>) => new Set(Array.from(found, ([, part = '']) => normalise(part)));
  // PDFium writes U+FFFE for a hyphen at the end of a line.
  const starts = normal(text.matchAll(/([\p{L}\p{N}]+)(?:\ufffe|[-\u00ad\u2010]\s*?(?:\n|$))/gu));
  const others = normal(text.matchAll(/(?:^|\n|\ufffe)[^\p{L}\p{N}\n]*([\p{L}\p{N}]+)/gu));
  return (whole) =>
    Array.from(starts).some((start) => whole.startsWith(start) && others.has(whole.slice(start.length)));
}

/** `3 words: ONE, TWO, THREE` */
export function someWords(words: readonly string[]): string {
  const unique = [...new Set(words)];
  const more = unique.length > 5 ? ', …' : '';
  return `${words.length} word(s) (${unique.slice(0, 5).join(', ')}${more})`;
}
