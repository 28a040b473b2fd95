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
  return (
    text
      .normalize('NFKD')
      // The iota below a Greek letter is a letter of its own beside a capital.
      .replaceAll('\u0345', '\u03b9')
      .replace(/\p{M}|\u00ad|\u200b/gu, '')
      .toUpperCase()
      .replaceAll('\u1e9e', 'SS')
  );
}

const isArabic = /\p{Script=Arabic}/u;
const arabic = '[\\u0621-\\u064a\\u0671-\\u06d3]';
/** What stretches the words of a line: a PDF may give it back as the digit of its glyph. */
const stretch = new RegExp(`\\u0640|(?<=${arabic})1+(?=${arabic})`, 'g');

/** As pages and words are compared: a PDF gives back the two letters of a ligature of lam and alef in either order. */
function comparable(text: string): string {
  const plain = normalise(text).replace(stretch, '');
  return plain.replace(/[\u0627\u0644\u0671]{2,}/g, (letters) => Array.from(letters).sort().join(''));
}

function countWords(normalised: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const [found] of normalised.matchAll(word)) {
    const pieces = found.length > longestWord ? (found.match(piece) ?? []) : [found];
    for (const each of pieces) counts.set(each, (counts.get(each) ?? 0) + 1);
  }
  return counts;
}

/** The words of a text that the pages of another do not have, or not as often; in capitals, without accents. */
export function lostWords(text: string, ...pages: readonly string[]): string[] {
  const wanted = countWords(normalise(text));
  const all = comparable(pages.join('\n'));
  const there = countWords(all);
  const lacking = [...wanted].filter(([each, times]) => (there.get(comparable(each)) ?? 0) < times);
  if (lacking.length === 0) return [];
  const own = countWords(comparable(text));
  // A word that the text has as often as the pages stands for itself, and holds no other: the 1000 of a year no 100.
  const spareOf = (each: string) => (there.get(each) ?? 0) - (own.get(each) ?? 0);
  const isSpare: IsSpare = (each) => spareOf(each) > 0;
  const run = runOf(all, isSpare);
  const lost = lacking.flatMap(([each, times]) => {
    const whole = Math.max(...asSet(each).map((way) => occurrences(run, comparable(way), times)));
    const found = whole + (isArabic.test(each) ? cutInTwo(comparable(each), spareOf) : 0);
    return found < times ? [{ each, times: times - found }] : [];
  });
  const endsThatSplit = lost.length > mostSplit ? () => 0 : splitWords(pages, isSpare);
  return lost.flatMap(({ each, times }) => {
    const split = splitAtAnEnd * endsThatSplit(comparable(each));
    return Array.from({ length: Math.max(0, times - split) }, () => each);
  });
}

/** How often both halves of a word are spare: a number may stand between them where lines run from right to left. */
function cutInTwo(each: string, spareOf: (part: string) => number): number {
  const halves = Array.from(each, (_, at) => [each.slice(0, at), each.slice(at)]).slice(1);
  return Math.max(0, ...halves.map((parts) => Math.min(...parts.map(spareOf))));
}

/** As a page may give a word back: as it was written; from right to left; or there with its digits before its letters. */
function asSet(each: string): string[] {
  const parts = each.match(/\p{N}+|\P{N}+/gu) ?? [];
  return [each, Array.from(each).reverse().join(''), parts.reverse().join('')];
}

/** More words are not split at the ends of pages, nor one word more often at one: in cells beside each other. */
const [mostSplit, splitAtAnEnd] = [300, 2];

/** Whether a word of the pages may be a part of another word of the text, or hold one. */
type IsSpare = (word: string) => boolean;

/** The letters of a text, without what stands between them; `marks`: of each whether its word is spare, or else whether it is its first. */
interface Run {
  readonly letters: string;
  readonly marks: string;
}

const [spare, first, other] = ['+', '(', '-'];

const wordOrLetter = new RegExp(`${word.source}|[\\p{L}\\p{N}]`, 'gu');

function runOf(text: string, isSpare: IsSpare): Run {
  const run = { letters: '', marks: '' };
  for (const [each] of text.matchAll(wordOrLetter)) {
    run.letters += each;
    const isFree = each.length > longestWord || isSpare(each);
    run.marks += isFree ? spare.repeat(each.length) : first + other.repeat(each.length - 1);
  }
  return run;
}

/** Up to `most`. */
function occurrences({ letters, marks }: Run, part: string, most: number): number {
  let [count, at] = [0, letters.indexOf(part)];
  while (at !== -1 && count < most) {
    const end = at + part.length;
    const isWhole = marks[at] === first && marks[end] !== other && !marks.slice(at + 1, end).includes(first);
    const isFound = isWhole || marks.slice(at, end).includes(spare);
    if (isFound) count += 1;
    at = letters.indexOf(part, isFound ? end : at + 1);
  }
  return count;
}

/** At the ends of how many pages a word may begin at the end of a line and end on the next, with or without a hyphen, whatever stands in between. */
function splitWords(pages: readonly string[], isSpare: IsSpare): (word: string) => number {
  // PDFium writes U+FFFE for a hyphen at the end of a line.
  const read = pages.map((page) => {
    const ends = page.matchAll(/([\p{L}\p{N}]+)(?:\ufffe|[-\u00ad\u2010]?\s*(?:\n|$))/gu);
    const lastInLine = Array.from(new Set(Array.from(ends, ([, end = '']) => comparable(end))));
    const text = comparable(page);
    return { letters: text.replace(notALetter, ''), lastInLine, words: [...countWords(text).keys()] };
  });
  const parts = (whole: string) => Array.from(whole, (_, index) => index).slice(1);
  return (whole) =>
    read.filter(({ letters, lastInLine }, page) =>
      parts(whole).some((at) => {
        const [start, end] = [whole.slice(0, at), whole.slice(at)];
        if (!letters.includes(start)) return false;
        // The word may be a piece of a longer one, or be split more than once.
        const lasts = lastInLine.filter((last) => last.endsWith(start) || start.endsWith(last));
        if (lasts.length === 0) return false;
        // Of what a page ends with something may be printed below it, as notes are.
        return [read[page], read[page + 1]].some((next) => {
          if (next?.letters.includes(end) !== true) return false;
          const firsts = next.words.filter((each) => each.startsWith(end) || end.startsWith(each));
          return firsts.length > 0 && [...lasts, ...firsts].some(isSpare);
        });
      }),
    ).length;
}

/** `3 word(s) (ONE, TWO, THREE)` */
export function someWords(words: readonly string[]): string {
  return `${words.length} word(s) (${fewOf([...new Set(words)])})`;
}
