import { fewOf } from './conversion';

/** Whether the words of a text are in another, whatever has become of lines, hyphens, ligatures and signs in between. */

/** Letters that a PDF gives back as they were written. Those of other scripts are set in another order, or in pieces. */
const word =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]|[\p{N}\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Armenian}]+/gu;
const notALetter = /[^\p{L}\p{N}]+/gu;
/** What is longer is looked for in pieces: it stands on several lines, or pages. */
const piece = /.{10}/gu;
const longestWord = 40;

export function hasWords(text: string): boolean {
  return /[\p{L}\p{N}]/u.test(text);
}

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

/** A page gives back the end of a line of theirs before what a hyphen at its beginning splits. */
const fromRight = /[\p{Script=Arabic}\p{Script=Hebrew}]/u;
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
    for (const each of inPieces(found)) counts.set(each, (counts.get(each) ?? 0) + 1);
  }
  return counts;
}

function inPieces(found: string): readonly string[] {
  return found.length > longestWord ? (found.match(piece) ?? []) : [found];
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
  const isTaken = new Uint8Array(run.letters.length);
  const lost = lacking.flatMap(([each, times]) => {
    const ways = asSet(each).map((way) => occurrences(run, comparable(way), times));
    const places = ways.reduce((most, next) => (next.length > most.length ? next : most));
    for (const at of places) isTaken.fill(1, at, at + comparable(each).length);
    const found = places.length + (isArabic.test(each) ? cutInTwo(comparable(each), spareOf) : 0);
    return found < times ? [{ each, times: times - found }] : [];
  });
  if (lost.length <= mostSplit) {
    const countSplits = splitWords(pages);
    const left = leftOf(run, isTaken);
    // Those of which all is left come first: it is of no other word then.
    for (const take of [takeApart, takeOne]) {
      for (const word of lost) {
        const whole = comparable(word.each);
        word.times -= countSplits(whole, word.times, (ends) => take(left, whole, ends));
      }
    }
  }
  return lost.flatMap(({ each, times }) => Array.from({ length: times }, () => each));
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
  /** The spare ones. */
  readonly words: readonly { readonly text: string; readonly at: number }[];
}

const [spare, first, other] = ['+', '(', '-'];

const wordOrLetter = new RegExp(`${word.source}|[\\p{L}\\p{N}]`, 'gu');

function runOf(text: string, isSpare: IsSpare): Run {
  const run = { letters: '', marks: '', words: [] as { text: string; at: number }[] };
  for (const [each] of text.matchAll(wordOrLetter)) {
    const at = run.letters.length;
    run.letters += each;
    const isFree = each.length > longestWord || isSpare(each);
    if (isFree) for (const part of inPieces(each)) run.words.push({ text: part, at });
    run.marks += isFree ? spare.repeat(each.length) : first + other.repeat(each.length - 1);
  }
  return run;
}

/** How many spare words are in no word that was found in pieces, of each. */
function leftOf({ words }: Run, isTaken: Uint8Array): Left {
  const left: Left = new Map();
  for (const { text, at } of words) {
    if (isTaken[at] !== 1) left.set(text, (left.get(text) ?? 0) + 1);
  }
  return left;
}

/** Where it stands, up to `most` times. */
function occurrences({ letters, marks }: Run, part: string, most: number): number[] {
  const places: number[] = [];
  let at = letters.indexOf(part);
  while (at !== -1 && places.length < most) {
    const end = at + part.length;
    const isWhole = marks[at] === first && marks[end] !== other && !marks.slice(at + 1, end).includes(first);
    const isFound = isWhole || marks.slice(at, end).includes(spare);
    if (isFound) places.push(at);
    at = letters.indexOf(part, isFound ? end : at + 1);
  }
  return places;
}

type Left = Map<string, number>;
/** Whether what is left can be what a word was split into; it is left no longer. `ends`: the words around the end of a page. */
type Take = (ends: readonly string[]) => boolean;

/** Narrow cells break a word into more; each of them costs time. */
const mostParts = 5;

function takeApart(left: Left, whole: string, _ends: readonly string[], parts = mostParts): boolean {
  if (whole === '' || parts === 0) return whole === '';
  for (let length = whole.length; length > 0; length -= 1) {
    const start = whole.slice(0, length);
    const times = left.get(start) ?? 0;
    if (times === 0) continue;
    left.set(start, times - 1);
    if (takeApart(left, whole.slice(length), [], parts - 1)) return true;
    left.set(start, times);
  }
  return false;
}

function takeOne(left: Left, _whole: string, ends: readonly string[]): boolean {
  // Short numbers that are left are those of pages.
  const one = ends.find((each) => (left.get(each) ?? 0) > 0 && !/^\p{N}{1,4}$/u.test(each));
  if (one !== undefined) left.set(one, (left.get(one) ?? 0) - 1);
  return one !== undefined;
}

/**
 * How often, up to `most`, a word may begin at the end of a line of a page and end on the next, with or without a hyphen, whatever stands
 * in between.
 */
function splitWords(pages: readonly string[]): (word: string, most: number, take: Take) => number {
  const read = pages.map((page) => {
    const ends = page.matchAll(/([\p{L}\p{N}]+)[-\u00ad\u2010]?\s*(?:\n|$)/gu);
    const lastInLine = Array.from(new Set(Array.from(ends, ([, end = '']) => comparable(end))));
    const text = comparable(page);
    const isFromRight = fromRight.test(page);
    return { letters: text.replace(notALetter, ''), lastInLine, words: [...countWords(text).keys()], isFromRight };
  });
  const parts = (whole: string) =>
    Array.from(whole, (_, at) => [whole.slice(0, at), whole.slice(at)] as const).slice(1);
  const isSplit = (whole: string, page: number, take: Take) => {
    const { letters = '', lastInLine = [], isFromRight = false } = read[page] ?? {};
    const swapped = isFromRight ? parts(whole).map(([start, end]) => [end, start] as const) : [];
    return [...parts(whole), ...swapped].some(([start, end]) => {
      if (!letters.includes(start)) return false;
      // The word may be a piece of a longer one, or be split more than once.
      const lasts = lastInLine.filter((last) => last.endsWith(start) || start.endsWith(last));
      if (lasts.length === 0) return false;
      // Of what a page ends with something may be printed below it, as notes are.
      return [read[page], read[page + 1]].some((next) => {
        if (next?.letters.includes(end) !== true) return false;
        const firsts = next.words.filter((each) => each.startsWith(end) || end.startsWith(each));
        return firsts.length > 0 && take([...lasts, ...firsts]);
      });
    });
  };
  return (whole, most, take) => {
    const atEnds = pages.flatMap((_, page) => Array.from({ length: splitAtAnEnd }, () => page));
    let split = 0;
    for (const page of atEnds) if (split < most && isSplit(whole, page, take)) split += 1;
    return split;
  };
}

/** `3 word(s) (ONE, TWO, THREE)` */
export function someWords(words: readonly string[]): string {
  return `${words.length} word(s) (${fewOf([...new Set(words)])})`;
}
