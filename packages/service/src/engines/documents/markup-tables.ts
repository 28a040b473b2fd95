/** Completes markup tables with rows longer than the first, which readers would cut: the first row gets empty cells. */

const fence = /^\s*(`{3,}|~{3,})/;
const delimiters = /^\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;

export function withWholePipeTables(text: string): string {
  const lines = text.split('\n');
  let open: string | undefined;
  for (let index = 0; index < lines.length; index += 1) {
    const [, mark] = fence.exec(lines[index] ?? '') ?? [];
    if (mark !== undefined && open === undefined) open = mark;
    else if (mark !== undefined && open !== undefined && mark.startsWith(open)) open = undefined;
    if (open !== undefined) continue;
    const line = withoutPrefix(lines[index] ?? '');
    const columns = cellsIn(line);
    if (!line.includes('|') || !delimiters.test(line) || cellsIn(withoutPrefix(lines[index - 1] ?? '')) !== columns)
      continue;
    let most = columns;
    let last = index + 1;
    for (; last < lines.length && withoutPrefix(lines[last] ?? '').includes('|'); last += 1) {
      most = Math.max(most, cellsIn(withoutPrefix(lines[last] ?? '')));
    }
    lines[index - 1] = withCells(lines[index - 1] ?? '', '  ', most - columns);
    lines[index] = withCells(lines[index] ?? '', '--', most - columns);
    index = last - 1;
  }
  return lines.join('\n');
}

/** Without the prefix of a quote, or the indent of a list. */
function withoutPrefix(line: string): string {
  return line.replace(/^[\s>]*/, '').trimEnd();
}

function cellsIn(line: string): number {
  return line.replace(/\\\|/g, '').replace(/^\|/, '').replace(/\|$/, '').split('|').length;
}

function withCells(line: string, content: string, more: number): string {
  if (more === 0) return line;
  return `${line.trimEnd().replace(/(?<!(?<!\\)\|)$/, '|')}${`${content}|`.repeat(more)}`;
}

interface WikiTable {
  /** Number of cells of each row, and the last line of the first row. */
  rows: number[];
  endOfFirstRow: number;
  mark: string;
}

export function withWholeWikiTables(text: string): string {
  const lines = text.split('\n');
  const open: WikiTable[] = [];
  const added = new Map<number, string>();
  for (const [index, whole] of lines.entries()) {
    const line = whole.trim();
    const table = open.at(-1);
    if (line.startsWith('{|')) open.push({ rows: [0], endOfFirstRow: -1, mark: '|' });
    else if (!table) continue;
    else if (line.startsWith('|}')) {
      const { rows, endOfFirstRow, mark } = table;
      const lacking = Math.max(...rows) - (rows[0] ?? 0);
      if (lacking > 0 && endOfFirstRow !== -1) added.set(endOfFirstRow, `\n${mark} `.repeat(lacking));
      open.pop();
    } else if (line.startsWith('|-')) {
      if (table.rows.at(-1) !== 0) table.rows.push(0);
    } else if (/^[|!](?!\+)/.test(line)) {
      const spans = Array.from(line.matchAll(/colspan\s*=\s*["']?(\d+)/g), ([, span]) => Number(span) - 1);
      const cells = line.slice(1).split(line.startsWith('!') ? /!!|\|\|/ : /\|\|/).length;
      const last = table.rows.length - 1;
      table.rows[last] = (table.rows[last] ?? 0) + cells + spans.reduce((sum, span) => sum + span, 0);
      if (last === 0) Object.assign(table, { endOfFirstRow: index, mark: line.slice(0, 1) });
    } else if (table.rows.length === 1 && table.endOfFirstRow !== -1) table.endOfFirstRow = index;
  }
  return lines.map((line, index) => line + (added.get(index) ?? '')).join('\n');
}
