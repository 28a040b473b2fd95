import { editParts, entriesOf, textOfEntry, textOfPart, withEntries } from '../archive';
import { withFormatsOfValues } from './open-sheet';
import { attributeOf } from '../xml';

/** Corrects what LibreOffice would show wrongly, in the file that it opens. */

const wordPart = /^word\/\w+\.xml$/;
const changeInWord = /<\w+:(ins|del|moveFrom|moveTo|\w+Change)[\s>]/;
/** The first element holds the deleted text, apart from the body. */
const openChanges =
  /<text:tracked-changes(?:\s[^<>]*?)?(?:\/>|>[^]*?<\/text:tracked-changes>)|<text:change(?:-start|-end)?\s[^<>]*>/g;

/**
 * A name for the file that LibreOffice opens, which document fields can show: the one its owner gave it, but never a path, an option or a
 * hidden file, and short enough for a disk.
 */
export function officeFileName({ title, inputFormat }: { title: string; inputFormat: string }): string {
  const plain = title.replace(/[/\\\p{C}]/gu, '_').replace(/^[.~\s-]/, '_');
  // The cut may leave half a character at the end.
  const short = Buffer.from(plain)
    .subarray(0, 200)
    .toString('utf8')
    .replace(/\uFFFD+$/, '');
  return `${short || 'input'}.${inputFormat.split('-', 1)[0] ?? ''}`;
}

/** Returns the same buffer if there is nothing to correct. */
export function readableOffice(reader: string, writer: string, file: Buffer): Buffer {
  if (reader === 'xlsx') return withChartSheets(withTruths(file, writer));
  if (reader === 'ods') return withFormatsOfValues(file);
  return writer === 'pdf' || writer === 'txt' ? withChangesAccepted(reader, file) : file;
}

/** The document with all tracked changes accepted. */
function withChangesAccepted(reader: string, file: Buffer): Buffer {
  if (reader === 'odt') return editParts(file, /^(content|styles)\.xml$/, (xml) => xml.replace(openChanges, ''));
  const isChanged = entriesOf(file).some(
    (entry) => wordPart.test(entry.name) && changeInWord.test(textOfEntry(file, entry) ?? ''),
  );
  if (reader !== 'docx' || !isChanged) return file;
  return editParts(file, wordPart, (xml, name) => (name.endsWith('/settings.xml') ? hideMarks(xml) : dropDeleted(xml)));
}

export function hasChanges(rtf: Buffer): boolean {
  return /\\(deleted|revised)(?![a-z])/.test(rtf.toString('latin1'));
}

/** Drops text that was deleted or moved away. The marks of paragraphs and rows stay. */
function dropDeleted(xml: string): string {
  let depth = 0;
  return xml.replace(/<(\/?)\w+:(?:del|moveFrom)(?=[\s>])[^<>]*(?<!\/)>|<[^<>]*>|[^<]+/g, (text, closing?: string) => {
    if (closing === undefined) return depth > 0 ? '' : text;
    depth += closing === '/' ? -1 : 1;
    return '';
  });
}

/** Hides the colours of inserted text and the ends of deleted paragraphs. */
function hideMarks(settings: string): string {
  const view =
    '<w:revisionView xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" w:insDel="0" w:formatting="0"/>';
  return settings.replace(/<\w+:revisionView[^<>]*>/g, '').replace(/<(\w+:)?settings(\s[^<>]*)?>/, `$&${view}`);
}

/** Gives chart sheets a size: openpyxl writes none, because Excel needs none. */
function withChartSheets(file: Buffer): Buffer {
  const sheetOfChart = /(<(?:\w+:)?absoluteAnchor>\s*<(?:\w+:)?pos\s[^<>]*>\s*<(?:\w+:)?ext) cx="0" cy="0"/g;
  return editParts(file, /^xl\/drawings\/drawing\d*\.xml$/, (xml) =>
    xml.replace(sheetOfChart, '$1 cx="9300000" cy="6000000"'),
  );
}

const truth = /<c(?=\s)([^<>]*\st="b"[^<>]*)>/g;
const formatOfTruths = '<numFmt numFmtId="4095" formatCode="&quot;TRUE&quot;;&quot;TRUE&quot;;&quot;FALSE&quot;"/>';

/**
 * Keeps TRUE and FALSE. LibreOffice turns them into formulas, which are 0 in a file with manual calculation, and shows 1 and 0 in cells
 * without a format for them, which Excel does not need.
 */
function withTruths(book: Buffer, writer: string): Buffer {
  const file = editParts(book, /^xl\/workbook\.xml$/, (xml) =>
    xml.replace(/(<calcPr(?=\s)[^<>]*?)\scalcMode="manual"/, '$1'),
  );
  return writer === 'pdf' || writer === 'ods' ? withFormatOfTruths(file) : file;
}

function withFormatOfTruths(file: Buffer): Buffer {
  const styles = textOfPart(file, 'xl/styles.xml').replace(/<numFmts(?:\s[^<>]*)?\/>/, '');
  const [formats = ''] = /<cellXfs[\s>][^]*?(?=<\/cellXfs>)/.exec(styles) ?? [];
  const all = formats.match(/<xf(?=[\s/>])(?:[^<>]*\/>|[^]*?<\/xf>)/g) ?? [];
  const own = new Map<string, number>();
  const edited = editParts(file, /^xl\/worksheets\/[^/]+\.xml$/, (xml) =>
    xml.replace(truth, (whole, attributes: string) => {
      const style = attributeOf(attributes, 's') ?? '0';
      if (all[Number(style)] === undefined) return whole;
      if (!own.has(style)) own.set(style, all.length + own.size);
      return `<c${attributes.replace(/\ss="\d+"/, '')} s="${own.get(style)}">`;
    }),
  );
  if (own.size === 0) return file;
  const added = Array.from(own.keys(), (style) =>
    (all[Number(style)] ?? '')
      .replace(/\s(?:numFmtId|applyNumberFormat)="[^"]*"/g, '')
      .replace('<xf', '<xf numFmtId="4095" applyNumberFormat="1"'),
  );
  const named = /<numFmts[\s>]/.test(styles)
    ? styles.replace(/<numFmts(?:\s[^<>]*)?>/, `$&${formatOfTruths}`)
    : styles.replace(/<styleSheet(?:\s[^<>]*)?>/, `$&<numFmts count="1">${formatOfTruths}</numFmts>`);
  return withEntries(edited, new Map([['xl/styles.xml', named.replace('</cellXfs>', `${added.join('')}$&`)]]));
}
