import { ConversionFailure } from './conversion';
import { type Inline, textInlines } from './pandoc-document';

/** A cell that is more than its text. */
export interface Cell {
  readonly text: string;
  readonly link?: string | undefined;
  /** How many rows and columns it covers; the cells that it covers are not in their rows. */
  readonly rowSpan?: number;
  readonly columnSpan?: number;
}

export interface Table {
  /** Stands above it as a heading. */
  readonly title?: string;
  readonly columns: number;
  /** How many of the rows are the head. */
  readonly headRows: number;
  readonly rows: readonly (readonly (string | Cell)[])[];
}

export const pageWriters: ReadonlySet<string> = new Set(['html4', 'html5']);

/** Of one document. More would need more time than a conversion has: of pandoc, some 45 s for so many cells; of a page, a few. */
const maxCells = 50_000;
const maxCellsOfPage = 500_000;
const maxLetters = 50_000_000;

const noAttributes = ['', [], []];
const noCaption = [null, []];
const emptyCell = cellNode({ text: '' });

/** To be asked before a table is made: a small file can stand for a huge one. */
export function requireFewCells(cells: number, writer: string): void {
  const most = pageWriters.has(writer) ? maxCellsOfPage : maxCells;
  if (cells <= most) return;
  const other = most === maxCells ? `, or ${maxCellsOfPage} to html` : '';
  throw new ConversionFailure(
    `The file has ${cells} cells, empty ones included; the engines convert at most ${most}${other}. Split the file.`,
  );
}

/** Tables as a pandoc document (JSON); those of a page are written here, for which pandoc needs long. */
export function tableDocument(tables: readonly Table[], writer: string): string {
  requireShort(tables);
  const nodesOf = pageWriters.has(writer) ? pageNodesOf : tableNodesOf;
  const blocks = tables.flatMap((table, index) => [
    ...headingOf(table, index),
    ...(table.rows.length === 0 ? [] : [nodesOf(table)]),
  ]);
  return JSON.stringify({ 'pandoc-api-version': [1, 23, 1], meta: {}, blocks });
}

/** Cells of a spreadsheet may share one long text. */
function requireShort(tables: readonly Table[]): void {
  let letters = 0;
  for (const row of tables.flatMap(({ rows }) => rows)) for (const cell of row) letters += wholeCell(cell).text.length;
  if (letters <= maxLetters) return;
  throw new ConversionFailure(
    `The cells have ${letters} letters; the engines convert at most ${maxLetters}. Split the file.`,
  );
}

function wholeCell(cell: string | Cell): Cell {
  return typeof cell === 'string' ? { text: cell } : cell;
}

function headingOf({ title }: Table, index: number) {
  return title === undefined ? [] : [{ t: 'Header', c: [2, [`sheet-${index + 1}`, [], []], textInlines(title)] }];
}

function tableNodesOf({ columns, headRows, rows }: Table) {
  const widths = Array.from({ length: columns }, () => [{ t: 'AlignDefault' }, { t: 'ColWidthDefault' }]);
  const nodes = rows.map((row) => [noAttributes, row.map(nodeOf)]);
  const head = [noAttributes, nodes.slice(0, headRows)];
  const body = [noAttributes, 0, [], nodes.slice(headRows)];
  return { t: 'Table', c: [noAttributes, noCaption, widths, head, [body], [noAttributes, []]] };
}

function nodeOf(cell: string | Cell) {
  return cell === '' ? emptyCell : cellNode(wholeCell(cell));
}

function cellNode({ text, link, rowSpan = 1, columnSpan = 1 }: Cell) {
  let inlines: Inline[] = textInlines(text);
  if (link !== undefined) inlines = [{ t: 'Link', c: [noAttributes, inlines, [link, '']] }];
  return [noAttributes, { t: 'AlignDefault' }, rowSpan, columnSpan, [{ t: 'Plain', c: inlines }]];
}

function pageNodesOf({ headRows, rows }: Table) {
  const part = (name: string, tag: string, some: Table['rows']) =>
    some.length === 0 ? '' : `<${name}>\n${some.map((row) => pageRow(row, tag)).join('')}</${name}>\n`;
  const html = `<table>\n${part('thead', 'th', rows.slice(0, headRows))}${part('tbody', 'td', rows.slice(headRows))}</table>`;
  return { t: 'RawBlock', c: ['html', html] };
}

function pageRow(row: readonly (string | Cell)[], tag: string): string {
  const cells = row.map((each) => {
    const { text, link, rowSpan = 1, columnSpan = 1 } = wholeCell(each);
    const spans = rowSpan * columnSpan === 1 ? '' : ` rowspan="${rowSpan}" colspan="${columnSpan}"`;
    const shown = escapeHtml(text.trim()).replace(/\s*\n\s*/g, '<br />\n');
    return `<${tag}${spans}>${link === undefined ? shown : `<a href="${escapeHtml(link)}">${shown}</a>`}</${tag}>\n`;
  });
  return `<tr>\n${cells.join('')}</tr>\n`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (letter) => `&#${letter.codePointAt(0)};`);
}
