import { ConversionFailure } from './conversion';
import { type Inline, textInlines } from './plain-text';

/** A cell that is more than its text. */
export interface Cell {
  readonly text: string;
  readonly strong?: boolean;
  readonly emphasis?: boolean;
  readonly align?: 'Default' | 'Left' | 'Center' | 'Right';
  readonly link?: string;
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

/** Cells of one document. Far fewer already need more time than a conversion has. */
const maxCells = 500_000;

const noAttributes = ['', [], []];
const noCaption = [null, []];
const emptyCell = cellNode({ text: '' });

/** To be asked before a table is made: a small file can stand for a huge one. */
export function requireFewCells(cells: number): void {
  if (cells <= maxCells) return;
  throw new ConversionFailure(
    `The file has ${cells} cells, empty ones included; the engines take at most ${maxCells}. Split it.`,
  );
}

/** Tables as a pandoc document (JSON). */
export function tableDocument(tables: readonly Table[]): string {
  const blocks = tables.flatMap((table, index) => [...headingOf(table, index), ...blocksOf(table)]);
  return JSON.stringify({ 'pandoc-api-version': [1, 23, 1], meta: {}, blocks });
}

function headingOf({ title }: Table, index: number) {
  return title === undefined ? [] : [{ t: 'Header', c: [2, [`sheet-${index + 1}`, [], []], textInlines(title)] }];
}

function blocksOf({ columns, headRows, rows }: Table) {
  if (rows.length === 0) return [];
  const widths = Array.from({ length: columns }, () => [{ t: 'AlignDefault' }, { t: 'ColWidthDefault' }]);
  const nodes = rows.map((row) => [noAttributes, row.map(nodeOf)]);
  const head = [noAttributes, nodes.slice(0, headRows)];
  const body = [noAttributes, 0, [], nodes.slice(headRows)];
  return [{ t: 'Table', c: [noAttributes, noCaption, widths, head, [body], [noAttributes, []]] }];
}

function nodeOf(cell: string | Cell) {
  if (cell === '') return emptyCell;
  return cellNode(typeof cell === 'string' ? { text: cell } : cell);
}

function cellNode({ text, strong, emphasis, align = 'Default', link, rowSpan = 1, columnSpan = 1 }: Cell) {
  let inlines: Inline[] = textInlines(text);
  if (emphasis) inlines = [{ t: 'Emph', c: inlines }];
  if (strong) inlines = [{ t: 'Strong', c: inlines }];
  if (link !== undefined) inlines = [{ t: 'Link', c: [noAttributes, inlines, [link, '']] }];
  return [noAttributes, { t: `Align${align}` }, rowSpan, columnSpan, [{ t: 'Plain', c: inlines }]];
}
