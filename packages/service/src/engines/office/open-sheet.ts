import { editParts, textOfPart, withEntries } from '../archive';
import { valueOfStyle, stylesOf } from './open-styles';
import { attributeOf } from '../xml';

/**
 * Repairs ODS spreadsheets of libraries (odfpy, pandas), whose cells have values but neither texts nor formats: readers skip a cell
 * without a text, and LibreOffice shows a date without a format as a number of days.
 */

const emptyCell = /<table:table-cell(?=\s)([^<>]*\soffice:value-type="[^<>]*?)(?:\/>|>\s*<\/table:table-cell>)/g;

/** Returns the same archive if each cell with a value has its text. */
export function withTextsOfValues(archive: Buffer): Buffer {
  return editParts(archive, /^content\.xml$/, (xml) =>
    xml.replace(emptyCell, (whole, attributes: string) => {
      const text = textOfValue(attributes);
      return text ? `<table:table-cell${attributes}><text:p>${text}</text:p></table:table-cell>` : whole;
    }),
  );
}

/** Stays escaped, like the value. */
function textOfValue(attributes: string): string | undefined {
  const value = attributeOf(attributes, 'office:value') ?? '';
  switch (attributeOf(attributes, 'office:value-type')) {
    case 'date':
      return attributeOf(attributes, 'office:date-value')?.replace('T', ' ');
    case 'time':
      return attributeOf(attributes, 'office:time-value')?.replace(/^PT(\d+)H(\d+)M(\d+).*/, '$1:$2:$3');
    case 'percentage':
      return `${Number((Number(value) * 100).toPrecision(15))}%`;
    case 'currency':
      return `${value} ${attributeOf(attributes, 'office:currency') ?? ''}`.trim();
    case 'boolean':
      return attributeOf(attributes, 'office:boolean-value')?.toUpperCase();
    case 'string':
      return attributeOf(attributes, 'office:string-value');
    default:
      return value;
  }
}

const number = '<number:number number:min-integer-digits="1" number:decimal-places="2"/>';
const long = (...names: string[]) => names.map((name) => `<number:${name} number:style="long"/>`);
const day = long('year', 'month', 'day').join('<number:text>-</number:text>');
const time = long('hours', 'minutes', 'seconds').join('<number:text>:</number:text>');
/** Readable in any locale. */
const formats: Readonly<Record<string, string>> = {
  date: `<number:date-style NAME>${day}</number:date-style>`,
  moment: `<number:date-style NAME>${day}<number:text> </number:text>${time}</number:date-style>`,
  time: `<number:time-style NAME number:truncate-on-overflow="false">${time}</number:time-style>`,
  percentage: `<number:percentage-style NAME>${number}<number:text>%</number:text></number:percentage-style>`,
  boolean: '<number:boolean-style NAME><number:boolean/></number:boolean-style>',
};
const namespaces = ['style', 'number']
  .map((name) => ` xmlns:${name}="urn:oasis:names:tc:opendocument:xmlns:${name === 'number' ? 'datastyle' : name}:1.0"`)
  .join('');

/** Wide enough for a date with a time, or a price. */
const wideColumn = `<style:style style:name="shown-column" style:family="table-column"${namespaces}><style:table-column-properties style:column-width="4.5cm"/></style:style>`;

const maxColumns = 16_384;

/** Widens the columns that hold dates with times, or prices, in any sheet. */
function columnsFor(content: string): string {
  const wide = new Set<number>();
  for (const row of content.split('<table:table-row')) {
    let column = 0;
    for (const [, attributes = ''] of row.matchAll(/<table:(?:covered-)?table-cell(?=[\s/>])([^<>]*)/g)) {
      if (column < maxColumns && wideValue.test(attributes)) wide.add(column);
      column += Number(attributeOf(attributes, 'table:number-columns-repeated') ?? 1);
    }
  }
  return Array.from({ length: Math.max(...wide) + 1 }, (_, column) =>
    wide.has(column) ? '<table:table-column table:style-name="shown-column"/>' : '<table:table-column/>',
  ).join('');
}

const moment = /\soffice:date-value="[^"]*T/;
const wideValue = /\soffice:(?:date-value="[^"]*T|currency=")/;
const valueCell =
  /<table:table-cell(?=\s)([^<>]*\soffice:value-type="(date|time|percentage|boolean|currency)"[^<>]*)>/g;

/** Returns the same archive if each date, time, percentage, price and boolean has a format. */
export function withFormatsOfValues(archive: Buffer): Buffer {
  const content = textOfPart(archive, 'content.xml');
  // Default cell styles of rows and columns may have formats.
  if (/\stable:default-cell-style-name="(?!Default")/.test(content)) return archive;
  const styles = stylesOf(textOfPart(archive, 'styles.xml') + content, ['table-cell']);
  const hasFormat = (name = 'Default') =>
    valueOfStyle(styles, name, ({ attributes }) => attributeOf(attributes, 'style:data-style-name')) !== undefined;
  const added = new Map<string, string>();
  const cells = content.replace(valueCell, (whole, attributes: string, type: string) => {
    const base = attributeOf(attributes, 'table:style-name');
    const currency = type === 'currency' ? (attributeOf(attributes, 'office:currency') ?? '') : undefined;
    if (hasFormat(base) || (currency !== undefined && !/^[A-Z]{3}$/.test(currency))) return whole;
    const format = moment.test(attributes) ? 'moment' : (currency ?? type);
    const name = `${base ?? 'Default'}-${format}`;
    const { attributes: own, inside } = styles.get(base ?? '') ?? {
      attributes: ' style:family="table-cell"',
      inside: '',
    };
    const others = own.replace(/\sstyle:(name|display-name)="[^"]*"/g, '');
    const shown =
      formats[format] ??
      `<number:number-style NAME>${number}<number:text> ${format}</number:text></number:number-style>`;
    added.set(format, shown.replace('NAME', `style:name="shown-${format}"${namespaces}`));
    added.set(
      name,
      `<style:style style:name="${name}" style:data-style-name="shown-${format}"${others}${namespaces}>${inside}</style:style>`,
    );
    return `<table:table-cell table:style-name="${name}"${attributes.replace(/\stable:style-name="[^"]*"/, '')}>`;
  });
  if (added.size === 0) return archive;
  const isWide = wideValue.test(content) && !content.includes('<table:table-column');
  const all = [...added.values(), ...(isWide ? [wideColumn] : [])].join('');
  const sheets = isWide ? cells.replace(/<table:table\s[^<>]*[^/]>/g, `$&${columnsFor(content)}`) : cells;
  const styled = sheets.replace(
    /<office:automatic-styles\s*\/>|<\/office:automatic-styles>|<office:body[\s>]/,
    (tag) =>
      tag.startsWith('</')
        ? all + tag
        : `<office:automatic-styles>${all}</office:automatic-styles>${tag.startsWith('<office:body') ? tag : ''}`,
  );
  return withEntries(archive, new Map([['content.xml', styled]]));
}
