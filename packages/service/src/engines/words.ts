import { fewOf } from './conversion';

/** Finds words of a text in another one, regardless of line breaks, hyphens, ligatures and signs in between. */

/** Letters that a PDF returns as they were written. It returns those of other scripts reordered or in pieces. */
const word =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]|[\p{N}\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Armenian}]+/gu;
/** Longer words are searched in pieces, because they span lines or pages. */
const piece = /.{1,10}/gu;
const longestWord = 40;

export function hasWords(text: string): boolean {
  return /[\p{L}\p{N}]/u.test(text);
}

const arabic = '[\\u0621-\\u064a\\u0671-\\u06d3]';
/** Stretches Arabic words to justify a line; a PDF may return it as the digit of its glyph. */
const stretch = new RegExp(`\\u0640|(?<=${arabic})1+(?=${arabic})`, 'g');

function wordsIn(text: string): string[] {
  const plain = text
    .normalize('NFKD')
    // A Greek iota subscript becomes a separate letter in capitals.
    .replaceAll('\u0345', '\u03b9')
    .replace(/\p{M}|\u00ad|\u200b/gu, '')
    .toUpperCase()
    .replaceAll('\u1e9e', 'SS')
    .replace(stretch, '');
  const words = plain.match(word) ?? [];
  return words.flatMap((each) => (each.length > longestWord ? (each.match(piece) ?? []) : [each]));
}

/** As words are compared: a PDF returns the letters of a lam-alef ligature in either order. */
function comparable(each: string): string {
  return each.replace(/[\u0627\u0644\u0671]{2,}/g, (letters) => Array.from(letters).sort().join(''));
}

function addTo(counts: Map<string, number>, each: string): void {
  counts.set(each, (counts.get(each) ?? 0) + 1);
}

/** More words are not searched in parts, which is slow. */
const maxTakenApart = 300;

/** The words that a text has more often than the pages; in capitals, without accents. */
export function lostWords(text: string, ...pages: readonly string[]): string[] {
  const [names, wanted, there] = [new Map<string, string>(), new Map<string, number>(), new Map<string, number>()];
  for (const name of wordsIn(text)) {
    const each = comparable(name);
    if (!names.has(each)) names.set(each, name);
    addTo(wanted, each);
  }
  const read = wordsIn(pages.join('\n')).map(comparable);
  for (const each of read) addTo(there, each);
  const lacking = Array.from(wanted, ([each, times]) => ({ each, times: times - (there.get(each) ?? 0) }));
  const lost = lacking.filter(({ times }) => times > 0);
  if (lost.length === 0) return [];
  // Only surplus words of the pages can contain others: the 1000 of a year is no 100.
  const spareOf = (each: string) => (there.get(each) ?? 0) - (wanted.get(each) ?? 0);
  const spare = read.filter((each) => spareOf(each) > 0);
  const run = spare.join('');
  const isTaken = new Uint8Array(run.length);
  const longestFirst = [...lost].sort((one, other) => other.each.length - one.each.length);
  for (const word of longestFirst) word.times -= takeWhole(run, isTaken, word);
  const left = leftOf(spare, isTaken, spareOf);
  const apart = longestFirst.filter(({ times }) => times > 0).slice(0, maxTakenApart);
  for (const word of apart) while (word.times > 0 && takeApart(left, word.each)) word.times -= 1;
  return lost.flatMap(({ each, times }) => Array.from({ length: times }, () => names.get(each) ?? each));
}

/** As a page may return a word: as it was written, from right to left, or there with its digits before its letters. */
function asSet(each: string): string[] {
  const parts = each.match(/\p{N}+|\P{N}+/gu) ?? [];
  return [each, Array.from(each).reverse().join(''), parts.reverse().join('')];
}

/** How often, up to `times`, a word is in the run of spare words, which break or join at line ends; marks these letters as taken. */
function takeWhole(run: string, isTaken: Uint8Array, { each, times }: { each: string; times: number }): number {
  let found = 0;
  for (const way of asSet(each)) {
    for (let at = run.indexOf(way); at !== -1 && found < times; at = run.indexOf(way, at + 1)) {
      const end = at + way.length;
      if (isTaken.subarray(at, end).includes(1)) continue;
      isTaken.fill(1, at, end);
      found += 1;
    }
  }
  return found;
}

/** Counts of the spare words, and of their remaining pieces, in which no word was found. */
function leftOf(spare: readonly string[], isTaken: Uint8Array, spareOf: (each: string) => number): Map<string, number> {
  const left = new Map<string, number>();
  let at = 0;
  for (const each of spare) {
    const free = Array.from(each, (letter, index) => (isTaken[at + index] === 1 ? ' ' : letter)).join('');
    at += each.length;
    for (const part of free.split(' ').filter((part) => part !== each || (left.get(each) ?? 0) < spareOf(each))) {
      if (part !== '') addTo(left, part);
    }
  }
  return left;
}

/** Narrow cells break words into more parts, but each part costs time. */
const maxParts = 5;

/** Whether the remaining pieces can be a word that was split at the end of lines or pages; if so, they are used up. */
function takeApart(left: Map<string, number>, whole: string, parts = maxParts): boolean {
  if (whole === '' || parts === 0) return whole === '';
  for (let length = whole.length; length > 0; length -= 1) {
    const start = whole.slice(0, length);
    const times = left.get(start) ?? 0;
    if (times === 0) continue;
    left.set(start, times - 1);
    if (takeApart(left, whole.slice(length), parts - 1)) return true;
    left.set(start, times);
  }
  return false;
}

/** `3 word(s) (ONE, TWO, THREE)` */
export function someWords(words: readonly string[]): string {
  return `${words.length} word(s) (${fewOf([...new Set(words)])})`;
}
