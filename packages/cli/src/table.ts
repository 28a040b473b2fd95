import { columnsOf } from './terminal-text';

export { fileSize } from 'temporal-file-conversion/internal/shared/file-size';

/** A table without lines: it can be read, copied and cut into columns. A cell may have several lines. */
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
