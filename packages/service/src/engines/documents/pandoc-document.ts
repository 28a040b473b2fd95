import { isObject } from 'temporal-file-conversion/contract';
import { ConversionFailure } from '../conversion';

/** Documents in pandoc's JSON format. */

/** As far as needed here: every element is a node `{ t, c }`. */
export interface Node {
  t: string;
  c?: unknown;
}

export type Attributes = [id: string, classes: string[], pairs: [string, string][]];

/** Attributes have the same form everywhere: an identifier, classes and pairs. */
export function isAttributes(value: unknown): value is Attributes {
  if (!Array.isArray(value) || value.length !== 3) return false;
  const items: readonly unknown[] = value;
  const [id, classes, pairs] = items;
  return (
    typeof id === 'string' &&
    Array.isArray(classes) &&
    classes.every((item) => typeof item === 'string') &&
    Array.isArray(pairs) &&
    pairs.every((pair) => Array.isArray(pair) && pair.length === 2 && pair.every((item) => typeof item === 'string'))
  );
}

export function part(node: Node, index: number): unknown {
  return Array.isArray(node.c) ? node.c[index] : undefined;
}

export function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The text of any part of a document, without its markup and its attributes. */
export function pandocText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return isAttributes(value) ? '' : value.map(pandocText).join('');
  if (!isNode(value)) return '';
  return value.c === undefined ? ' ' : pandocText(value.c);
}

/** The text that a reader of a document sees. */
export function shownText(document: unknown): string {
  const shown = rewrite(isObject(document) ? document['blocks'] : [], (node) => {
    if (!isNode(node)) return undefined;
    if (unseen.has(node.t)) return ' ';
    // Some writers leave out the scheme of an address.
    if (node.t === 'Link') return shownText({ blocks: part(node, 1) }).replace(/^mailto:/, '');
    return inlines.has(node.t) ? undefined : [' ', shownText({ blocks: node.c }), ' '];
  });
  return pandocText(shown);
}

const unseen = new Set(['Image', 'Math', 'RawBlock', 'RawInline']);
/** Inlines that do not end a word. */
const inlines = new Set([
  'Str',
  'Emph',
  'Strong',
  'Strikeout',
  'Superscript',
  'Subscript',
  'SmallCaps',
  'Underline',
  'Span',
]);

export function firstOf(value: unknown): string {
  const first: unknown = Array.isArray(value) ? value[0] : undefined;
  return typeof first === 'string' ? first : '';
}

export function isNode(value: unknown): value is Node {
  return isObject(value) && typeof value['t'] === 'string';
}

type Inline = { t: 'Str'; c: string } | { t: 'Space' | 'LineBreak' } | { t: 'Link'; c: unknown[] };

/** One run of pandoc, whose WebAssembly build sees a virtual file system with only the files of this run. */
export interface PandocRun {
  from: string;
  to: string;
  input: Uint8Array | string;
  /** Name of the input in pandoc's file system; it becomes the title of a page that has none. */
  inputName: string;
  options?: Record<string, unknown>;
  filter?: string | undefined;
}

/** Class of code blocks in which every character has its column. */
export const fixedPitch = 'fixed-pitch';

export function documentOf(blocks: readonly unknown[]): string {
  return JSON.stringify({ 'pandoc-api-version': [1, 23, 1], meta: {}, blocks });
}

/** Words, spaces between them, and breaks between lines that are not empty. */
function textInlines(text: string): Inline[] {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return lines.flatMap((line, index) => [...(index === 0 ? [] : [{ t: 'LineBreak' } as const]), ...lineInlines(line)]);
}

export function lineInlines(line: string): Inline[] {
  // Other spaces, such as non-breaking ones, count as letters.
  const words = line.split(/[ \t\f\v]+/).filter((word) => word !== '');
  return words.flatMap((word, index): Inline[] => [
    ...(index === 0 ? [] : [{ t: 'Space' } as const]),
    { t: 'Str', c: word },
  ]);
}

const mediaTypes = { png: 'image/png', jpg: 'image/jpeg', gif: 'image/gif', webp: 'image/webp', svg: 'image/svg+xml' };

/**
 * The document (pandoc JSON) with every image as a data: URI; an image without data is replaced by its description. For writers that fail
 * on a missing image or drop it silently.
 */
export function embedImages(
  json: string,
  media: ReadonlyMap<string, Uint8Array>,
): { json: string; missing: readonly string[] } {
  const missing: string[] = [];
  const embed = (value: unknown): unknown =>
    rewrite(value, (node) => {
      if (!isNode(node) || node.t !== 'Image') return undefined;
      const source = firstOf(part(node, 2));
      const description = embed(part(node, 1));
      const data = media.get(source);
      if (data) return { t: 'Image', c: [part(node, 0), description, [toDataUri(data), '']] };
      if (source.startsWith('data:')) return node;
      missing.push(source === '' ? 'an image without a source' : source);
      return { t: 'Span', c: [['', [], []], description] };
    });
  return { json: JSON.stringify(embed(JSON.parse(json))), missing };
}

/** A copy with the results of `replace` in place of the parts that it returns one for; it must descend into these itself. */
export function rewrite(value: unknown, replace: (part: unknown) => unknown): unknown {
  const replaced = replace(value);
  if (replaced !== undefined) return replaced;
  if (Array.isArray(value)) return value.map((item) => rewrite(item, replace));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, rewrite(item, replace)]));
}

function toDataUri(data: Uint8Array): string {
  const kind = imageKind(data);
  const mediaType = kind === undefined ? 'application/octet-stream' : mediaTypes[kind];
  return `data:${mediaType};base64,${Buffer.from(data).toString('base64')}`;
}

/** The kind of an image that typst can typeset, by its first bytes, because names in documents are unreliable. */
export function imageKind(data: Uint8Array): keyof typeof mediaTypes | undefined {
  const head = Buffer.from(data.subarray(0, 1024)).toString('latin1');
  if (head.startsWith('\x89PNG\r\n\x1a\n')) return 'png';
  if (head.startsWith('\xff\xd8\xff')) return 'jpg';
  if (head.startsWith('GIF8')) return 'gif';
  if (head.startsWith('RIFF') && head.slice(8, 12) === 'WEBP') return 'webp';
  if (/^(\xef\xbb\xbf)?\s*</.test(head) && head.includes('<svg')) return 'svg';
  return undefined;
}

export interface Cell {
  readonly text: string;
  readonly link?: string | undefined;
  /** Number of rows and columns that the cell covers; covered cells are absent from their rows. */
  readonly rowSpan?: number;
  readonly columnSpan?: number;
}

export interface Table {
  readonly title?: string;
  readonly columns: number;
  readonly headRows: number;
  readonly rows: readonly (readonly (string | Cell)[])[];
}

export const pageWriters: ReadonlySet<string> = new Set(['html4', 'html5']);

/** Limits for one document, because of the timeout: pandoc takes some 45 s for `maxCells`; HTML pages take a few seconds. */
const maxCells = 50_000;
const maxCellsOfPage = 500_000;
const maxLetters = 50_000_000;

const noAttributes = ['', [], []];
const noCaption = [null, []];
const emptyCell = cellNode({ text: '' });

/** To be called before a table is built, because a small file can describe a huge one. @throws ConversionFailure */
export function requireFewCells(cells: number, writer: string): void {
  const most = pageWriters.has(writer) ? maxCellsOfPage : maxCells;
  if (cells <= most) return;
  const other = most === maxCells ? `, or ${maxCellsOfPage} to html` : '';
  throw new ConversionFailure(
    `The file has ${cells} cells, empty ones included; the engines convert at most ${most}${other}. Split the file.`,
  );
}

/** Tables as a pandoc document (JSON). For HTML pages they are written here, because pandoc is slow at that. */
export function tableDocument(tables: readonly Table[], writer: string): string {
  requireShort(tables);
  const nodesOf = pageWriters.has(writer) ? pageNodesOf : tableNodesOf;
  const blocks = tables.flatMap((table, index) => {
    const nodes = table.rows.length === 0 ? [] : [nodesOf(table)];
    if (table.title === undefined) return nodes;
    return [{ t: 'Header', c: [2, [`sheet-${index + 1}`, [], []], textInlines(table.title)] }, ...nodes];
  });
  return documentOf(blocks);
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

function tableNodesOf({ columns, headRows, rows }: Table) {
  const widths = Array.from({ length: columns }, () => [{ t: 'AlignDefault' }, { t: 'ColWidthDefault' }]);
  const nodes = rows.map((row) => [
    noAttributes,
    row.map((cell) => (cell === '' ? emptyCell : cellNode(wholeCell(cell)))),
  ]);
  const head = [noAttributes, nodes.slice(0, headRows)];
  const body = [noAttributes, 0, [], nodes.slice(headRows)];
  return { t: 'Table', c: [noAttributes, noCaption, widths, head, [body], [noAttributes, []]] };
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
