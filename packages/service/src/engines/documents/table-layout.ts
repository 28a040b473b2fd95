import {
  type Attributes,
  fixedPitch,
  isAttributes,
  isNode,
  listOf,
  type Node,
  part,
  rewrite,
  pandocText,
} from './pandoc-document';
import { breakWords, type Extent, extentOf } from './text-width';

/**
 * Lays out the tables of a document (pandoc's JSON) so that every word fits its column. typst divides a line among columns regardless of
 * their contents, and prints a word that is too wide over the next column. A table that does not fit gets smaller type, then a landscape
 * page, then a page as wide as the table, in the usual proportions.
 */

/** In points. */
export interface Page {
  readonly width: number;
  readonly height: number;
  readonly margin: number;
}

interface Setting {
  readonly size: number;
  readonly inset: number;
}

const usualSetting: Setting = { size: 11, inset: 6 };
const smallSettings: readonly Setting[] = [
  { size: 9, inset: 4 },
  { size: 8, inset: 3 },
  { size: 7, inset: 2 },
];
const smallest: Setting = { size: 7, inset: 2 };
/** Margin of a landscape page, unless one is asked for. */
const marginOfWide = 42;
/** PDF viewers support no larger page. */
const maxPageWidth = 14_400;
const indent = 18;

/** The blocks with their tables laid out for a page. `isAtTop`: tables that do not fit may get pages of their own. */
export function layTables(blocks: unknown, page: Page, isAtTop = true): unknown[] {
  const room = page.width - 2 * page.margin;
  return listOf(blocks).flatMap((block) => {
    if (!isNode(block)) return [block];
    if (block.t === 'Table') return layTable(block, page, isAtTop);
    if (block.t === 'CodeBlock' && isAtTop) return layColumns(block, page);
    const [first, second] = [part(block, 0), part(block, 1)];
    if (block.t === 'Div') {
      const inside = layTables(second, page, isAtTop);
      // A page cannot be inside a block, so the contents follow the block, which is only a link target.
      return inside.some((each) => isNode(each) && each.t === 'RawBlock')
        ? [{ t: 'Div', c: [first, []] }, ...inside]
        : [{ t: 'Div', c: [first, inside] }];
    }
    const narrower = { ...page, width: page.width - indent };
    const within = (items: unknown) => listOf(items).map((item) => layTables(item, narrower, false));
    if (room < indent) return [block];
    if (block.t === 'BlockQuote') return [{ t: block.t, c: layTables(block.c, narrower, false) }];
    if (block.t === 'BulletList') return [{ t: block.t, c: within(block.c) }];
    if (block.t === 'OrderedList') return [{ t: block.t, c: [first, within(second)] }];
    if (block.t === 'Figure') return [{ t: block.t, c: [first, second, layTables(part(block, 2), page, false)] }];
    if (block.t === 'DefinitionList') {
      const items = listOf(block.c).map((item) => {
        const [term, definitions] = listOf(item);
        return [term, within(definitions)];
      });
      return [{ t: block.t, c: items }];
    }
    return [block];
  });
}

/** Metrics of the code font in em: width of a letter, height of a line, and space between lines in it. */
const [letterWidth, lineHeight, leading] = [0.603, 1.26, 0.45];
const [largestLetters, smallestLetters] = [10, 4];
/** Texts with more lines are not laid out as one printer page. */
const maxLines = 80;

/** Gives fixed-pitch text pages with room for its longest line, in portrait or landscape, whichever allows larger letters. */
function layColumns(block: Node, page: Page): unknown[] {
  const attributes = part(block, 0);
  if (!isAttributes(attributes) || !attributes[1].includes(fixedPitch)) return [block];
  const lines = String(part(block, 1)).split('\n');
  const columns = Math.max(1, ...lines.map((line) => line.length));
  const margin = Math.min(page.margin, marginOfWide);
  const sizeOn = (width: number, height: number) =>
    Math.min(
      largestLetters,
      (width - 2 * margin) / (columns * letterWidth),
      lines.length > maxLines ? Infinity : (height - 2 * margin) / (lines.length * lineHeight),
    );
  const [upright, onSide] = [sizeOn(page.width, page.height), sizeOn(page.height, page.width)];
  const [width, height] = onSide > upright ? [page.height, page.width] : [page.width, page.height];
  const size = Math.max(smallestLetters, upright, onSide);
  const opening = `#page(width: ${width}pt, height: ${height}pt, margin: ${margin}pt)[#show raw: set text(size: ${size}pt)\n#set par(leading: ${size * leading}pt)`;
  return [typst(opening), { t: 'CodeBlock', c: [['', [], []], lines.join('\n')] }, typst(']')];
}

function layTable(table: Node, page: Page, isAtTop: boolean): unknown[] {
  const room = page.width - 2 * page.margin;
  const [attributes, caption, columns, ...parts] = listOf(table.c);
  const sections = withoutTallHead(parts);
  const extents = extentsOf(table);
  if (extents.length === 0) return [table];
  const laid = (setting: Setting, widths: readonly (number | undefined)[], inRoom: number): Node => {
    const specs = listOf(columns).map((column, index) => {
      const width = widths[index];
      const whole =
        width === undefined
          ? { t: 'ColWidthDefault' }
          : { t: 'ColWidth', c: Math.floor((width / inRoom) * 10_000) / 10_000 };
      return [listOf(column)[0], whole];
    });
    const all = [withSetting(attributes, setting), caption, specs];
    const narrowest = Math.min(inRoom / extents.length, ...widths.map((width) => width ?? inRoom));
    const layCells = (value: unknown) => layTablesOfCells(value, { ...page, width: narrowest - 2 * setting.inset });
    return { t: 'Table', c: [...all, ...sections.map(layCells)] };
  };
  const needed = (setting: Setting, of: (extent: Extent) => number) =>
    extents.reduce((sum, extent) => sum + of(extent) * setting.size + 2 * setting.inset, 0);
  const given = listOf(columns).map((column) => widthGiven(column, room));
  const suits = ({ min }: Extent, index: number) =>
    (given[index] ?? Infinity) >= min * usualSetting.size + 2 * usualSetting.inset;
  if (given.every((width) => width !== undefined) && extents.every(suits)) return [laid(usualSetting, given, room)];
  if (needed(usualSetting, ({ max }) => max) <= room) return [laid(usualSetting, [], room)];
  const fitting = [usualSetting, ...smallSettings].find((setting) => needed(setting, ({ min }) => min) <= room);
  if (fitting) return [laid(fitting, share(extents, fitting, room), room)];
  if (!isAtTop) return [breakAllWords(laid(smallest, share(extents, smallest, room), room))];

  const margin = Math.min(page.margin, marginOfWide);
  const [width, height] = [Math.max(page.width, page.height), Math.min(page.width, page.height)];
  const onSide = smallSettings.find((setting) => needed(setting, ({ min }) => min) <= width - 2 * margin);
  const setting = onSide ?? smallest;
  const wide = Math.min(maxPageWidth, Math.max(width, needed(setting, ({ min }) => min) + 2 * margin));
  const wideRoom = wide - 2 * margin;
  const widePage = { width: wide, height: (height * wide) / width, margin };
  const opening = `#page(width: ${widePage.width}pt, height: ${widePage.height}pt, margin: ${margin}pt)[`;
  const inside = laid(setting, share(extents, setting, wideRoom), wideRoom);
  return [typst(opening), inside, typst(']')];
}

/** For columns too narrow for their words: broken words are better than overlapping ones. */
function breakAllWords(table: Node): unknown {
  return rewrite(table, (each) =>
    isNode(each) && each.t === 'Str' ? { t: 'Str', c: breakWords(String(each.c), 1, 1) } : undefined,
  );
}

const maxHeadRows = 5;
const maxHeadLetters = 1_000;

/** Turns the rows of a tall head into ordinary ones: a head does not break across pages, and would leave little room. */
function withoutTallHead([head, bodies, foot]: readonly unknown[]): unknown[] {
  const rows = listOf(listOf(head)[1]);
  const isTall = rows.length > maxHeadRows || pandocText(rows).length > maxHeadLetters;
  const [first, ...others] = listOf(bodies);
  if (!isTall || !Array.isArray(first)) return [head, bodies, foot];
  const [attributes, headColumns, heads, cells] = listOf(first);
  const body = [attributes, headColumns, heads, [...rows, ...listOf(cells)]];
  return [[listOf(head)[0], []], [body, ...others], foot];
}

function typst(code: string): Node {
  return { t: 'RawBlock', c: ['typst', code] };
}

function withSetting(attributes: unknown, { size, inset }: Setting): unknown {
  if (!isAttributes(attributes) || size === usualSetting.size) return attributes;
  const [id, classes, pairs]: Attributes = attributes;
  return [id, classes, [...pairs, ['typst:text:size', `${size}pt`], ['typst:inset', `${inset}pt`]]];
}

function widthGiven(column: unknown, room: number): number | undefined {
  const width = listOf(column)[1];
  return isNode(width) && typeof width.c === 'number' && width.c > 0 ? width.c * room : undefined;
}

/** Every column gets room for its longest word; the rest is shared in proportion to the extra width of the longest lines. */
function share(extents: readonly Extent[], { size, inset }: Setting, room: number): number[] {
  const least = extents.map(({ min }) => min * size + 2 * inset);
  const left = room - sum(least);
  if (left < 0) return least.map((width) => (width * room) / sum(least));
  const wanted = sum(extents.map(({ min, max }) => (max - min) * size));
  return extents.map(({ min, max }, index) => {
    const more = wanted === 0 ? 0 : ((max - min) * size * Math.min(left, wanted)) / wanted;
    return (least[index] ?? 0) + more;
  });
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/** Lays out tables inside cells, for the width of their cell. */
function layTablesOfCells(value: unknown, { width: room, height }: Page): unknown {
  if (!holdsTable(value)) return value;
  const width = Math.max(indent, room);
  const lay = (each: unknown): unknown => {
    if (!Array.isArray(each)) return each;
    const [attributes, alignment, rowSpan, columnSpan, blocks] = listOf(each);
    if (!isAttributes(attributes) || typeof rowSpan !== 'number' || each.length !== 5) return each.map(lay);
    const inside = layTables(blocks, { width, height, margin: 0 }, false);
    return [attributes, alignment, rowSpan, columnSpan, inside];
  };
  return lay(value);
}

function holdsTable(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(holdsTable);
  return isNode(value) && (value.t === 'Table' || holdsTable(value.c));
}

/** Extent of each column, in em. */
function extentsOf({ c }: Node): Extent[] {
  const [, , specs, ...sections] = listOf(c);
  const columns = listOf(specs).length;
  const extents = Array.from({ length: columns }, () => ({ min: 0, max: 0 }));
  for (const rows of rowsOf(sections)) {
    /** By column, the number of rows from the current one on that a cell above covers. */
    let covered = Array.from({ length: columns }, () => 0);
    for (const row of rows) {
      let column = 0;
      const next = covered.map((rest) => Math.max(0, rest - 1));
      for (const cell of row) {
        while ((covered[column] ?? 0) > 0) column += 1;
        const [, , rowSpan, columnSpan, blocks] = listOf(cell);
        const spans = typeof columnSpan === 'number' && columnSpan > 0 ? columnSpan : 1;
        const { min, max } = extentOf(blocks, extentsOf);
        for (let end = column + spans; column < end; column += 1) {
          const extent = extents[column];
          if (!extent) continue;
          extent.min = Math.max(extent.min, min / spans);
          extent.max = Math.max(extent.max, max / spans);
          next[column] = (typeof rowSpan === 'number' ? rowSpan : 1) - 1;
        }
      }
      covered = next;
    }
  }
  return extents;
}

function rowsOf([head, bodies, foot]: readonly unknown[]): unknown[][][] {
  const cells = (rows: unknown) => listOf(rows).map((row) => listOf(listOf(row)[1]));
  const inBodies = listOf(bodies).map((body) => [...cells(listOf(body)[2]), ...cells(listOf(body)[3])]);
  return [cells(listOf(head)[1]), ...inBodies, cells(listOf(foot)[1])];
}
