import { entriesOf, textOfEntry, textOfPart as partOf, withEntries } from '../archive';
import { decodeXml } from '../xml';

/** Word files: extracts their texts, and rewrites what pandoc would drop, such as cells of tables. */

const partNames = /^word\/(document|footnotes|endnotes|comments|header|footer)\d*\.xml$/;
const tag = /<(\/?)(?:(\w+):)?(\w+)([^<>]*?)(\/?)>|([^<]+)/g;

/** All text of a Word file, whichever engine reads it. `body` includes notes and text boxes. */
export function wordTexts(archive: Buffer) {
  const texts = { body: '', headers: '', hidden: '' };
  const equations: string[] = [];
  const drawn = { headerArt: '', headerPictureCount: 0, pictureCount: 0 };
  let [commentCount, insertedCount] = [0, 0];
  for (const [part, xml] of partsOf(archive)) {
    const inHeader = part === 'header' || part === 'footer';
    texts.hidden += Array.from(xml.matchAll(hiddenRun), ([run]) => run.match(textOfRun)?.join('') ?? '').join('\n');
    insertedCount += xml.match(/<\w+:altChunk[\s/>]/g)?.length ?? 0;
    if (part !== 'comments') equations.push(...equationsIn(xml));
    if (part === 'comments') commentCount += xml.match(/<\w+:comment[\s>]/g)?.length ?? 0;
    else texts[inHeader ? 'headers' : 'body'] += `${textOfPart(xml)}\n`;
    if (inHeader) drawn.headerArt += Array.from(xml.matchAll(art), ([, , text = '']) => decodeXml(text)).join('\n');
    drawn[inHeader ? 'headerPictureCount' : 'pictureCount'] +=
      xml
        .match(/<mc:Fallback>[^]*?<\/mc:Fallback>|<\w+:(?:blip|imagedata)\s/g)
        ?.filter((each) => !each.startsWith('<mc')).length ?? 0;
  }
  return { ...texts, ...drawn, equations, commentCount, insertedCount };
}

/** The visible text of each equation. */
export function equationsIn(xml: string): string[] {
  return Array.from(xml.matchAll(/<(\w+:)oMath[\s>][^]*?<\/\1oMath>/g), ([whole, prefix]) => {
    const texts = new RegExp(`<${prefix}phant>[^]*?</${prefix}phant>|<${prefix}t(?:\\s[^<>]*)?>([^<]*)`, 'g');
    return Array.from(whole.matchAll(texts), ([, text = '']) => decodeXml(text)).join(' ');
  });
}

/** The text parts; text that a style hides is marked as hidden in its run. */
function partsOf(archive: Buffer): [part: string, xml: string, name: string][] {
  const hidden = hiddenStyles(partOf(archive, 'word/styles.xml'));
  return entriesOf(archive).flatMap((entry): [string, string, string][] => {
    const [, part] = partNames.exec(entry.name) ?? [];
    const xml = part === undefined ? undefined : textOfEntry(archive, entry);
    return part === undefined || xml === undefined ? [] : [[part, hideByStyle(xml, hidden), entry.name]];
  });
}

/** Ids of styles that hide their text, by themselves or through their base. */
function hiddenStyles(xml: string): ReadonlySet<string> {
  const styles = new Map(
    Array.from(xml.matchAll(/<\w+:style\s[^<>]*:styleId="([^"]*)"[^]*?<\/\w+:style>/g), ([style, id = '']) => [
      id,
      style,
    ]),
  );
  const isHidden = (id: string, depth = 0): boolean => {
    const style = styles.get(id) ?? '';
    const [, attributes] = /<\w+:vanish(?=[\s/>])([^<>]*)>/.exec(style) ?? [];
    if (attributes !== undefined) return !/val="(0|false)"/.test(attributes);
    const [, parent] = /<\w+:basedOn\s[^<>]*val="([^"]*)"/.exec(style) ?? [];
    return parent !== undefined && depth < 20 && isHidden(parent, depth + 1);
  };
  return new Set([...styles.keys()].filter((id) => isHidden(id)));
}

const styled =
  /<\w+:p(?:\s[^<>]*)?(?<!\/)>|<(\/)\w+:p>|<\w+:pStyle\s[^<>]*val="([^"]*)"|(<(\w+:)r(?:\s[^<>]*)?(?<!\/)>)(?:<\4rPr>(?=((?:(?!<\/\4rPr>)[^])*)))?/g;

function hideByStyle(xml: string, hidden: ReadonlySet<string>): string {
  if (hidden.size === 0) return xml;
  const paragraphs: boolean[] = [];
  return xml.replace(styled, (whole: string, ...groups: (string | undefined)[]) => {
    const [end, style, run, prefix = '', properties] = groups;
    if (style !== undefined) paragraphs.splice(-1, 1, hidden.has(style));
    else if (end !== undefined) paragraphs.pop();
    else if (run === undefined) paragraphs.push(false);
    else if (!/:vanish[\s/>]/.test(properties ?? '')) {
      const [, own = ''] = /:rStyle\s[^<>]*val="([^"]*)"/.exec(properties ?? '') ?? [];
      const vanish = `${run}<${prefix}rPr><${prefix}vanish/>${properties === undefined ? `</${prefix}rPr>` : ''}`;
      if (paragraphs.at(-1) === true || hidden.has(own)) return vanish;
    }
    return whole;
  });
}

/** Elements whose text is a duplicate, deleted, or never shown. */
const unseen = new Set(['Fallback', 'del', 'moveFrom', 'rt']);
const ends = new Set([
  'p',
  'tab',
  'br',
  'cr',
  'tc',
  'txbxContent',
  'noBreakHyphen',
  'footnoteReference',
  'endnoteReference',
]);
/** Fields whose results every program recomputes. */
const madeAnew =
  /^\s*(TOC|INDEX|PAGE|NUMPAGES|SECTIONPAGES|PAGEREF|DATE|TIME|SAVEDATE|PRINTDATE|CREATEDATE|EDITTIME|FILENAME|FILESIZE|STYLEREF|DOCPROPERTY|AUTHOR|TITLE|LASTSAVEDBY|REVNUM|NUMWORDS|NUMCHARS|=)/i;

/** EQ fields, which draw the text between their switches: fractions, readings above letters, letters in circles. */
const equation = /^\s*EQ\s/i;
const orders = /\\\*\s*(?:"[^"]*"|\S+)|\\[a-z]+ ?\d*/gi;

/** Symbol fonts: an `a` in one is shown, and read, as alpha or a picture. */
const ofSigns = /:ascii="(?:Symbol|Wingdings(?: [23])?|Webdings)"/;

function textOfPart(xml: string): string {
  let text = '';
  let skipped = 0;
  let isText = false;
  let isCode = false;
  let isHidden = false;
  const fields: { code: string; isResult: boolean }[] = [];
  const isMadeAnew = () => fields.some(({ code, isResult }) => isResult && madeAnew.test(code));
  const endField = () => {
    const { code = '' } = fields.pop() ?? {};
    // A recomputed result still separates the words around it.
    if (madeAnew.test(code)) text += ' ';
    else if (equation.test(code) && skipped === 0)
      text += ` ${decodeXml(code).replace(equation, '').replace(orders, ' ')} `;
  };
  for (const [, closing, prefix, name = '', attributes = '', empty, content] of xml.matchAll(tag)) {
    if (content !== undefined) {
      const [field] = fields.slice(-1);
      if (isCode && field) field.code += content;
      else if (isText && skipped === 0 && !isHidden && !isMadeAnew()) text += decodeXml(content);
      continue;
    }
    const isEnd = closing === '/';
    const isEmpty = empty === '/';
    if (unseen.has(name) && prefix !== 'm' && !isEmpty) skipped += isEnd ? -1 : 1;
    else if (name === 't') isText = !isEnd && !isEmpty && prefix !== 'm' && prefix !== 'a';
    else if (name === 'instrText') isCode = !isEnd && !isEmpty;
    else if (name === 'vanish' || name === 'webHidden') isHidden ||= !/val="(0|false)"/.test(attributes);
    else if (name === 'rFonts') isHidden ||= ofSigns.test(attributes);
    else if (name === 'r') isHidden = false;
    else if (name === 'fldChar') {
      if (attributes.includes('fldCharType="begin"')) fields.push({ code: '', isResult: false });
      else if (attributes.includes('fldCharType="end"')) endField();
      else fields.splice(-1, 1, { code: fields.at(-1)?.code ?? '', isResult: true });
    } else if (name === 'fldSimple' && !isEmpty) {
      if (isEnd) endField();
      else fields.push({ code: /instr="([^"]*)"/.exec(attributes)?.[1] ?? '', isResult: true });
    } else if (ends.has(name)) text += ' ';
  }
  return text;
}

interface OpenTable {
  /** Where its `tblGrid` stands, if it has one. */
  grid: { start: number; end: number } | undefined;
  widths: string[];
  firstRow: number;
  /** Number of columns of each row. */
  rows: number[];
  endOfFirstRow: number;
}

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Elements whose text pandoc drops with them: fields, writing directions, marks of other programs. */
const wrappers = /<\/?\w+:(?:fldSimple|dir|bdo|customXml)(?=[\s/>])[^<>]*>/g;
/** A link as a simple field, which pandoc does not read. */
const simpleLink = /<(\w+:)fldSimple(?=\s)[^<>]*?\s\w+:instr="(\s*HYPERLINK\s[^"]*)"[^<>]*>([^]*?)<\/\1fldSimple>/g;
/** A hidden run. */
const hiddenRun =
  /<(\w+:)r(?:\s[^>]*)?><\1rPr>(?:(?!<\/\1rPr>)[^])*<\1vanish(?![^>]*val="(?:0|false)")(?:(?!<\1r[\s>])[^])*?<\/\1r>/g;
const textOfRun = /(?<=<\w+:t(?:\s[^>]*)?>)[^<]+/g;
/** A check box or list of a form; its value is only in its field data. */
const formField =
  /<(\w+:)r(?:\s[^>]*)?>(?:<\1rPr>(?:(?!<\/\1rPr>)[^])*<\/\1rPr>)?<\1fldChar[^>]*><\1ffData>((?:(?!<\/\1ffData>)[^])*<\1(?:checkBox|ddList)>[^]*?)<\/\1ffData>/g;
/** Text with its reading above it; pandoc drops both. */
const ruby = /<(\w+:)ruby>[^]*?<\1rt>([^]*?)<\/\1rt>[^]*?<\1rubyBase>([^]*?)<\/\1rubyBase><\/\1ruby>/g;
/** A field without a result, such as a button; its text is in its code. */
const field = /<(\w+:)fldChar\s[^<>]*"begin"[^<>]*\/>((?:(?!<\w+:fldChar\s)[^])*)<\1fldChar\s[^<>]*"end"[^<>]*\/>/g;
const textOfCode = /(?<=<\w+:instrText(?:\s[^>]*)?>)[^<]+/g;
const button = /^\s*(?:MACRO|GOTO)BUTTON\s+\S+\s+/;
/** WordArt, which is stored twice for different programs; the fallback is skipped. */
const art =
  /<mc:Fallback>[^]*?<\/mc:Fallback>|<(\w+:)pict(?=[\s>])(?:(?!<\/\1pict>)[^])*?<\w+:textpath\s[^<>]*?\bstring="([^"]*)"[^]*?<\/\1pict>/g;
/** A boundary in a run between text and a picture, shape or note; pandoc reads only one of the two. */
const besideText =
  /(?<=<\/w:t>|<w:(?:tab|br|cr)(?:\s[^<>]*)?\/>)(?=<(?:w:(?:drawing|pict|object|(?:foot|end)noteReference)|mc:AlternateContent)[\s>])|(?<=<\/(?:w:(?:drawing|pict|object)|mc:AlternateContent)>|<w:(?:foot|end)noteReference\s[^<>]*\/>)(?=<w:(?:t|tab|br|cr)[\s/>])|(?<=<\/w:drawing>)(?=<w:drawing[\s>])/g;

/**
 * The file without hidden text, with form values, buttons and WordArt as text, with a width for each column, and with first rows as wide
 * as their table, because pandoc cuts longer rows: pandoc then reads all that is shown.
 */
export function readableWord(archive: Buffer): Buffer {
  const changed = new Map<string, string>();
  for (const [part, original, name] of partsOf(archive)) {
    if (part === 'header' || part === 'footer' || part === 'comments') continue;
    const xml = original
      .replace(simpleLink, (_whole, prefix: string, code: string, shown: string) => {
        const run = (content: string) => `<${prefix}r><${prefix}${content}</${prefix}r>`;
        const mark = (type: string) => run(`fldChar ${prefix}fldCharType="${type}"/>`);
        return `${mark('begin')}${run(`instrText>${code}</${prefix}instrText>`)}${mark('separate')}${shown}${mark('end')}`;
      })
      .replace(wrappers, '')
      // pandoc drops these two without leaving a blank.
      .replace(/<(\w+:)cr\s*\/>/g, '<$1br/>')
      .replace(/<(\w+:)ptab\s[^<>]*\/>/g, '<$1tab/>')
      .replace(art, (whole: string, prefix: string, text?: string) =>
        text === undefined ? whole : `${whole}</${prefix}r><${prefix}r>${textNode(prefix, text)}`,
      )
      .replace(ruby, (_whole, prefix: string, reading: string, base: string) => {
        const letters = reading.match(textOfRun)?.join('') ?? '';
        return `</${prefix}r>${base}<${prefix}r>${letters === '' ? '' : textNode(prefix, `(${letters})`)}`;
      })
      .replace(field, (whole, prefix: string, inside: string) => {
        const code = inside.match(textOfCode)?.join('') ?? '';
        return button.test(code) ? textNode(prefix, code.replace(button, '').trimEnd()) : whole;
      })
      .replace(hiddenRun, (run) => run.replace(textOfRun, ''))
      .replace(besideText, '</w:r><w:r>')
      .replace(formField, (whole, prefix: string, data: string) => {
        return `<${prefix}r>${textNode(prefix, valueOfField(data))}</${prefix}r>${whole}`;
      });
    const edits = editsOfTables(xml);
    if (edits.length === 0 && xml === original) continue;
    let whole = '';
    let at = 0;
    for (const { start, end, text } of edits.sort((one, other) => one.start - other.start)) {
      whole += xml.slice(at, start) + text;
      at = end;
    }
    changed.set(name, whole + xml.slice(at));
  }
  return withEntries(archive, changed);
}

function textNode(prefix: string, xml: string): string {
  return `<${prefix}t xml:space="preserve">${xml}</${prefix}t>`;
}

function valueOfField(data: string): string {
  const valueOf = (name: string) =>
    new RegExp(`<\\w+:${name}(?:\\s+\\w+:val="([^"]*)")?\\s*/>`).exec(data)?.slice(0, 2);
  const entries = Array.from(data.matchAll(/<\w+:listEntry\s+\w+:val="([^"]*)"/g), ([, entry = '']) => entry);
  const [found, value = '1'] = valueOf('result') ?? valueOf('checked') ?? valueOf('default') ?? ['', '0'];
  if (data.includes(':ddList>')) return entries[found === '' ? 0 : Number(value)] ?? '';
  return /^(0|false)$/.test(value) ? '\u2610' : '\u2612';
}

const tableTag = /<(\/?)(\w+:)(tbl|tblGrid|gridCol|tr|tc|gridSpan|gridBefore)(?=[\s/>])([^<>]*?)(\/?)>/g;
const defaultWidth = '1000';

function editsOfTables(xml: string): Edit[] {
  const edits: Edit[] = [];
  const open: OpenTable[] = [];
  for (const found of xml.matchAll(tableTag)) {
    const [whole, closing, prefix = '', name, attributes = '', empty] = found;
    const end = found.index + whole.length;
    const isStart = closing !== '/';
    const table = open.at(-1);
    if (name === 'tbl' && isStart) {
      open.push({ grid: undefined, widths: [], firstRow: -1, rows: [], endOfFirstRow: -1 });
    }
    if (!table) continue;
    const value = Number(/val="(\d+)"/.exec(attributes)?.[1] ?? 1);
    const last = table.rows.length - 1;
    const count = (columns: number) => (table.rows[last] = (table.rows[last] ?? 0) + columns);
    if (name === 'tblGrid') {
      if (isStart) table.grid ??= { start: found.index, end };
      else if (table.grid) table.grid.end = end;
    } else if (name === 'gridCol') table.widths.push(/:w="(\d+)"/.exec(attributes)?.[1] ?? '');
    else if (name === 'tr' && isStart) {
      if (table.firstRow === -1) table.firstRow = found.index;
      table.rows.push(0);
      if (empty === '/') table.rows.pop();
    } else if (name === 'tr' && table.endOfFirstRow === -1) table.endOfFirstRow = found.index;
    else if (name === 'tc' && isStart) count(1);
    else if (name === 'gridSpan') count(value - 1);
    else if (name === 'gridBefore') count(value);
    else if (name === 'tbl' && !isStart) edits.push(...editsOfTable(open.pop(), prefix));
  }
  return edits;
}

function editsOfTable(table: OpenTable | undefined, prefix: string): Edit[] {
  if (!table || table.endOfFirstRow === -1) return [];
  const { grid, widths, rows, firstRow, endOfFirstRow } = table;
  const columns = Math.max(...rows);
  const lacking = columns - (rows[0] ?? 0);
  const isWhole = widths.length >= columns && widths.every((width) => width !== '' && width !== '0');
  const edits: Edit[] = [];
  if (!isWhole || lacking > 0) {
    const all = Array.from({ length: Math.max(columns, widths.length) }, (_, column) => widths[column] ?? '');
    const specs = all.map((width) => `<${prefix}gridCol ${prefix}w="${Number(width) > 0 ? width : defaultWidth}"/>`);
    const place = grid ?? { start: firstRow, end: firstRow };
    edits.push({ ...place, text: `<${prefix}tblGrid>${specs.join('')}</${prefix}tblGrid>` });
  }
  if (lacking > 0) {
    const cell = `<${prefix}tc><${prefix}tcPr/><${prefix}p/></${prefix}tc>`;
    edits.push({ start: endOfFirstRow, end: endOfFirstRow, text: cell.repeat(lacking) });
  }
  return edits;
}
