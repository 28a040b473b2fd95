/** Completes tables of HTML for pandoc: adds omitted end tags of rows and cells, and extends the first row and `col` to all columns. */

const tableTag =
  /<!--[^]*?(?:-->|$)|<(script|style)\b[^]*?(?:<\/\1\s*>|$)|<(\/?)(table|thead|tbody|tfoot|col|tr|td|th)(?=[\s/>])((?:"[^"]*(?:"|$)|'[^']*(?:'|$)|[^>"'])*)(?:>|$)/gi;
/** HTML limits `colspan` to this. */
const maxColumns = 1_000;

/** Text to be inserted; some is known only at the end of the table. */
interface Addition {
  readonly at: number;
  text: string;
}

interface OpenTable {
  place: number;
  columnTags: number;
  firstRow: Addition | undefined;
  firstWidth: number;
  /** Columns of the widest row, without and with those that are taken by cells of the rows above. */
  widest: number;
  most: number;
  /** By column, the last row that a cell reaches. */
  taken: number[];
  row: number;
  width: number;
  column: number;
  isRow: boolean;
  cell: string | undefined;
}

/** Completes tables that pandoc would cut off, or not take for tables. */
export function withWholeTables(html: string): string {
  const added: Addition[] = [];
  const open: OpenTable[] = [];
  for (const { 0: tag, 2: slash, 3: written, 4: attributes = '', index: at } of html.matchAll(tableTag)) {
    if (written === undefined) continue;
    const [name, isEnd, end, table] = [written.toLowerCase(), slash === '/', at + tag.length, open.at(-1)];
    if (name === 'table' && !isEnd) open.push(newTable());
    if (!table || (name === 'table' && !isEnd)) continue;
    if (name === 'col') Object.assign(table, { place: end, columnTags: table.columnTags + 1 });
    else added.push(...endsBefore(table, { name, isEnd, at }));
    if ((name === 'td' || name === 'th') && !isEnd) readCell(table, name, attributes);
    if (name === 'tr' && !isEnd) startRow(table);
    if (/^t(able|head|body|foot)$/.test(name)) table.taken = [];
    if (name === 'table') added.push(...fill(table));
    if (name === 'table') open.pop();
  }
  let [whole, from] = ['', 0];
  for (const { at, text } of added.filter(({ text }) => text !== '').sort((one, other) => one.at - other.at)) {
    whole += html.slice(from, at) + text;
    from = at;
  }
  return whole + html.slice(from);
}

function newTable(): OpenTable {
  const row = { row: 0, width: 0, column: 0, isRow: false, cell: undefined };
  return { place: 0, columnTags: 0, firstRow: undefined, firstWidth: 0, widest: 0, most: 0, taken: [], ...row };
}

function endsBefore(table: OpenTable, { name, isEnd, at }: { name: string; isEnd: boolean; at: number }): Addition[] {
  const isOfCell = /^t[dh]$/.test(name);
  const ends: Addition[] = [];
  if (table.cell !== undefined && !(isEnd && isOfCell)) ends.push({ at, text: `</${table.cell}>` });
  table.cell = undefined;
  if (isOfCell || !table.isRow) return ends;
  table.isRow = false;
  table.widest = Math.max(table.widest, table.width);
  if (!table.firstRow) {
    ends.push((table.firstRow = { at, text: '' }));
    table.firstWidth = table.width;
  }
  if (!(isEnd && name === 'tr')) ends.push({ at, text: '</tr>' });
  return ends;
}

function startRow(table: OpenTable): void {
  Object.assign(table, { row: table.row + 1, width: 0, column: 0, isRow: true });
}

function readCell(table: OpenTable, name: string, attributes: string): void {
  if (!table.isRow) startRow(table);
  table.cell = name;
  const span = (of: string) => Number(new RegExp(`\\s${of}\\s*=\\s*["']?(\\d+)`, 'i').exec(attributes)?.[1] ?? 1);
  const [width, height] = [Math.min(span('colspan') || 1, maxColumns), span('rowspan') || Infinity];
  while ((table.taken[table.column] ?? 0) >= table.row) table.column += 1;
  table.taken.length = Math.max(table.taken.length, table.column + width);
  table.taken.fill(table.row + height - 1, table.column, (table.column += width));
  table.width += width;
  table.most = Math.max(table.most, table.column);
}

/** pandoc sees no more columns than a row has cells, and no more than there are `col`, if any. */
function fill({ place, columnTags, firstRow, firstWidth, widest, most }: OpenTable): Addition[] {
  if (firstRow && most > widest) firstRow.text = '<td></td>'.repeat(most - firstWidth);
  return columnTags > 0 && most > columnTags ? [{ at: place, text: '<col />'.repeat(most - columnTags) }] : [];
}
