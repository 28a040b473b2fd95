/** Text on a terminal: what it may hold, and how much room it takes. */
import { printable } from 'temporal-file-conversion/internal/shared/printable';

export { printable };

/** Several lines, each of them printable. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

let segmenter: Intl.Segmenter | undefined;

/** What a reader takes for one character each. */
function graphemesOf(text: string): string[] {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' });
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;

/** Columns that a text takes; close enough for cutting lines, since terminals themselves disagree on the rest. */
export function columnsOf(text: string): number {
  let columns = 0;
  for (const grapheme of graphemesOf(text)) columns += wide.test(grapheme) ? 2 : 1;
  return columns;
}

/** The text, cut to the room that there is; `…` marks the cut. */
export function fit(text: string, columns: number): string {
  if (columnsOf(text) <= columns) return text;
  let kept = '';
  let used = 1;
  for (const grapheme of graphemesOf(text)) {
    used += wide.test(grapheme) ? 2 : 1;
    if (used > columns) break;
    kept += grapheme;
  }
  return columns < 1 ? '' : `${kept}…`;
}

/** The text cut in its middle, so that the ends, which tell names apart, stay. */
export function fitMiddle(text: string, columns: number): string {
  if (columnsOf(text) <= columns) return text;
  const head = graphemesOf(text);
  let tail = '';
  while (columnsOf(tail) < Math.floor((columns - 1) / 2)) tail = (head.pop() ?? '') + tail;
  return fit(head.join(''), columns - columnsOf(tail)) + tail;
}
