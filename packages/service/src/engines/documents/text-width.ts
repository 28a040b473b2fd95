import { isObject } from 'temporal-file-conversion/contract';
import { isNode, type Node, part } from './pandoc-document';

/** Estimates the width of text before it is typeset; good enough to know whether it has room. */

/** Width in em of the longest word (`min`) and of the longest line (`max`). */
export interface Extent {
  readonly min: number;
  readonly max: number;
}

/** Extent of blocks or inlines of a document (pandoc's JSON); `columnsOf` gives that of a nested table. */
export function extentOf(value: unknown, columnsOf: (table: Node) => readonly Extent[]): Extent {
  const extent = { min: 0, max: 0 };
  let [word, line] = [0, 0];
  const endWord = () => {
    extent.min = Math.max(extent.min, word);
    word = 0;
  };
  const endLine = () => {
    endWord();
    extent.max = Math.max(extent.max, line);
    line = 0;
  };
  const add = (text: string) => {
    for (const letter of text) {
      const width = widthOf(letter);
      if (/\s|\u200b/.test(letter)) endWord();
      // Chinese, Japanese and Korean lines break between any two letters.
      else if (width === 1) {
        endWord();
        extent.min = Math.max(extent.min, width);
      } else word += width;
      line += width;
      if (letter === '\n') endLine();
    }
  };
  const walk = (each: unknown): void => {
    if (Array.isArray(each)) each.forEach(walk);
    else if (isNode(each)) walkNode(each);
    else if (isObject(each)) Object.values(each).forEach(walk);
  };
  const walkNode = (node: Node): void => {
    if (node.t === 'Str') add(String(node.c));
    else if (texts.has(node.t)) add(String(part(node, 1)));
    else if (node.t === 'Space' || node.t === 'SoftBreak') add(' ');
    else if (node.t === 'Note') add('1');
    else if (node.t === 'Image') extent.max = Math.max(extent.max, usualImage);
    else if (node.t === 'Table') {
      const columns = columnsOf(node);
      const sumOf = (of: (extent: Extent) => number) => columns.reduce((sum, each) => sum + of(each) + 1, 0);
      extent.min = Math.max(
        extent.min,
        sumOf(({ min }) => min),
      );
      extent.max = Math.max(
        extent.max,
        sumOf(({ max }) => max),
      );
    } else {
      const indent = indented.has(node.t) ? listIndent : 0;
      word += indent;
      line += indent;
      walk(node.c);
    }
    if (lines.has(node.t)) endLine();
  };
  walk(value);
  endLine();
  return { min: extent.min * allowance, max: extent.max * allowance };
}

/** In em. */
const [usualImage, listIndent] = [8, 2];
const texts = new Set(['Code', 'CodeBlock', 'Math']);
const indented = new Set(['BulletList', 'OrderedList', 'BlockQuote']);
const lines = new Set(['LineBreak', 'CodeBlock', 'Para', 'Plain', 'Header', ...indented]);
/** Bold letters, and those of other fonts, are wider. */
const allowance = 1.08;

function widthOf(letter: string): number {
  if (/[a-z0-9 ]/.test(letter)) return letter === 'm' || letter === 'w' ? 0.82 : 0.53;
  if (/[.,:;!'|()[\]\-/\u00ad]/.test(letter)) return 0.36;
  if (/[MW@%]/.test(letter)) return 0.95;
  if (/[A-Z]/.test(letter)) return 0.72;
  return /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60\u{1f000}-\u{3fffd}]/u.test(letter)
    ? 1
    : 0.66;
}

/** Longer ones are numbers, keys and the like, and would leave the page. */
const longestWord = 40;
const pieceLetters = 10;
const letters = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
/** Scripts whose lines break between any two letters, or where a dictionary says. */
const withoutSpaces = /[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u2e80-\ua4cf\uac00-\ud7a3]/;

/** Lets lines break inside overlong words. The breaks are invisible, because a hyphen could become part of a number. */
export function breakWords(text: string, longest = longestWord, piece = pieceLetters): string {
  if (text.length <= longest) return text;
  return text.replace(new RegExp(`[^\\s\\u200b]{${longest + 1},}`, 'g'), (word) => {
    if (withoutSpaces.test(word)) return word;
    const all = Array.from(letters.segment(word), ({ segment }) => segment);
    return all.map((letter, index) => (index > 0 && index % piece === 0 ? `\u200b${letter}` : letter)).join('');
  });
}
