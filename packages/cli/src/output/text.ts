import { printable, shownTime } from 'temporal-file-conversion/messages';

export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}

const escape = '\u001b';

/** Like `printableLines`, but keeps our own colours. */
export function printableColored(text: string): string {
  const parts = text.split(new RegExp(`(${escape}\\[\\d+m)`));
  return parts.map((part, index) => (index % 2 === 0 ? printableLines(part) : part)).join('');
}

let segmenter: Intl.Segmenter | undefined;

function graphemesOf(text: string): string[] {
  // The rules of languages take 10 ms to load.
  if (/^[ -~]*$/.test(text)) return Array.from(text);
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' });
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;

/** Display width of a text. Good enough to cut lines: terminals themselves disagree on the rest. */
export function columnsOf(text: string): number {
  let columns = 0;
  for (const grapheme of graphemesOf(text)) columns += wide.test(grapheme) ? 2 : 1;
  return columns;
}

/** Cuts the text to the columns; `…` marks the cut. */
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

/** Cuts the text in the middle, and keeps the ends, which distinguish names. */
export function fitMiddle(text: string, columns: number): string {
  if (columnsOf(text) <= columns) return text;
  const head = graphemesOf(text);
  let tail = '';
  while (columnsOf(tail) < Math.floor((columns - 1) / 2)) tail = (head.pop() ?? '') + tail;
  return fit(head.join(''), columns - columnsOf(tail)) + tail;
}

/** A table without borders, easy to copy or cut into columns. Cells may have several lines and any text. */
export function formatTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, ...rows].flatMap(linesOf);
  const widths = head.map((_, column) =>
    lines.reduce((widest, line) => Math.max(widest, columnsOf(line[column] ?? '')), 0),
  );
  const pad = (cell: string, column: number) => cell + ' '.repeat((widths[column] ?? 0) - columnsOf(cell));
  return lines.map((line) => line.map(pad).join('  ').trimEnd()).join('\n');
}

function linesOf(row: readonly string[]): string[][] {
  const cells = row.map((cell) => printableLines(cell).split('\n'));
  const height = Math.max(...cells.map(({ length }) => length));
  return Array.from({ length: height }, (_, line) => cells.map((cell) => cell[line] ?? ''));
}

/**
 * A time for a person, local and in UTC (as in files and `--json`): `2026-11-21 10:25:18 (09:25:18 UTC)`. Shown once if both are
 * equal. `isBrief` leaves out today's date.
 */
export function bothTimes(at: number | Date, { isBrief = false }: { isBrief?: boolean } = {}): string {
  const [here, utc] = [localTime(at), shownTime(at)];
  const today = localTime(Date.now()).slice(0, 10);
  const shown = isBrief && here.startsWith(today) ? here.slice(11) : here;
  if (here === utc) return `${shown} UTC`;
  return `${shown} (${utc.slice(0, 10) === here.slice(0, 10) ? utc.slice(11) : utc} UTC)`;
}

/** `2026-11-21 10:25:18`, in the time zone of this machine. */
function localTime(at: number | Date): string {
  const date = new Date(at);
  return shownTime(date.getTime() - date.getTimezoneOffset() * 60_000);
}

/** Column heads for times: local and UTC, or one if they are equal. */
export function timeHeads(name: string): string[] {
  return isUtc() ? [`${name} (UTC)`] : [`${name} (HERE)`, `${name} (UTC)`];
}

export function timeCells(at: number | Date | undefined): string[] {
  const utc = at === undefined ? '' : shownTime(at);
  return isUtc() ? [utc] : [at === undefined ? '' : localTime(at), utc];
}

function isUtc(): boolean {
  return new Date().getTimezoneOffset() === 0;
}
