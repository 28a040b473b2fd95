import { printable } from 'temporal-file-conversion/internal/shared/wording';

export { fileSize } from 'temporal-file-conversion/internal/shared/wording';
export { printable };

/** Several lines, each of them printable. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

let segmenter: Intl.Segmenter | undefined;

/** The characters as a reader sees them. */
function graphemesOf(text: string): string[] {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' });
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;

/** Columns that a text takes. Close enough to cut lines: terminals themselves disagree on the rest. */
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

/** A table without borders, easy to copy or to cut into columns. A cell may have several lines. */
export function formatTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, ...rows].flatMap(linesOf);
  const widths = head.map((_, column) =>
    lines.reduce((widest, line) => Math.max(widest, columnsOf(line[column] ?? '')), 0),
  );
  const pad = (cell: string, column: number) => cell + ' '.repeat((widths[column] ?? 0) - columnsOf(cell));
  return lines.map((line) => line.map(pad).join('  ').trimEnd()).join('\n');
}

function linesOf(row: readonly string[]): string[][] {
  const cells = row.map((cell) => cell.split('\n'));
  const height = Math.max(...cells.map(({ length }) => length));
  return Array.from({ length: height }, (_, line) => cells.map((cell) => cell[line] ?? ''));
}
