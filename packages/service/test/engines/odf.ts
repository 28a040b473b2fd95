import { zip, zipEntry } from './archives';

/** Handwritten OpenDocument files. */

const namespaces = [
  'office urn:oasis:names:tc:opendocument:xmlns:office:1.0',
  'text urn:oasis:names:tc:opendocument:xmlns:text:1.0',
  'table urn:oasis:names:tc:opendocument:xmlns:table:1.0',
  'draw urn:oasis:names:tc:opendocument:xmlns:drawing:1.0',
  'style urn:oasis:names:tc:opendocument:xmlns:style:1.0',
  'fo urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0',
  'svg urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0',
  'script urn:oasis:names:tc:opendocument:xmlns:script:1.0',
  'presentation urn:oasis:names:tc:opendocument:xmlns:presentation:1.0',
  'chart urn:oasis:names:tc:opendocument:xmlns:chart:1.0',
  'xlink http://www.w3.org/1999/xlink',
  'dom http://www.w3.org/2001/xml-events',
  'ooo http://openoffice.org/2004/office',
  'of urn:oasis:names:tc:opendocument:xmlns:of:1.2',
].map((line) => line.replace(/^(\S+) (.*)$/, 'xmlns:$1="$2"'));

interface OdfSource {
  kind: 'text' | 'spreadsheet' | 'presentation';
  body: string;
  /** Styles of the content. */
  automaticStyles?: string;
  scripts?: string;
  /** Master pages and their layouts: the content of `styles.xml` without its root. */
  styles?: string;
  doctype?: string;
  /** The values of a bar chart in the folder `chart`, for `chartFrame()`. */
  chart?: readonly number[];
  more?: Readonly<Record<string, string | Buffer>>;
}

export function odf({
  kind,
  body,
  automaticStyles = '',
  scripts = '',
  styles = '',
  doctype = '',
  chart,
  more = {},
}: OdfSource): Buffer {
  const type = `application/vnd.oasis.opendocument.${kind}`;
  const root = (name: string, content: string) =>
    `<?xml version="1.0" encoding="UTF-8"?>${doctype}<office:document-${name} ${namespaces.join(' ')} office:version="1.2">${content}</office:document-${name}>`;
  const parts: Record<string, string | Buffer> = {
    'content.xml': root(
      'content',
      `${scripts}<office:automatic-styles>${automaticStyles}</office:automatic-styles><office:body><office:${kind}>${body}</office:${kind}></office:body>`,
    ),
    'styles.xml': root('styles', styles),
    ...(chart && { 'chart/content.xml': root('content', barChart(chart)) }),
    ...more,
  };
  const entries = Object.keys(parts).map(
    (name) =>
      `<manifest:file-entry manifest:full-path="${name}" manifest:media-type="${name.endsWith('.xml') ? 'text/xml' : ''}"/>`,
  );
  if (chart) {
    const chartType = 'application/vnd.oasis.opendocument.chart';
    entries.push(`<manifest:file-entry manifest:full-path="chart/" manifest:media-type="${chartType}"/>`);
  }
  const manifest = `<?xml version="1.0"?><manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0" manifest:version="1.2"><manifest:file-entry manifest:full-path="/" manifest:media-type="${type}"/>${entries.join('')}</manifest:manifest>`;
  return zip([
    zipEntry('mimetype', type),
    zipEntry('META-INF/manifest.xml', manifest),
    ...Object.entries(parts).map(([name, data]) => zipEntry(name, data)),
  ]);
}

export const paragraph = (text: string): string => `<text:p>${text}</text:p>`;

export const chartFrame = (): string =>
  `<text:p><draw:frame svg:width="10cm" svg:height="7cm"><draw:object xlink:href="./chart" xlink:type="simple" xlink:show="embed" xlink:actuate="onLoad"/></draw:frame></text:p>`;

function barChart(values: readonly number[]): string {
  const cell = (text: string | number) =>
    `<table:table-cell office:value-type="${typeof text === 'number' ? `float" office:value="${text}` : 'string'}">${paragraph(String(text))}</table:table-cell>`;
  const row = (name: string, value: string | number) =>
    `<table:table-row>${cell(name)}${cell(value)}</table:table-row>`;
  const header = `<table:table-header-columns><table:table-column/></table:table-header-columns><table:table-columns><table:table-column/></table:table-columns><table:table-header-rows>${row('', 'Pieces')}</table:table-header-rows>`;
  const rows = values.map((value, index) => row(`Row ${index + 1}`, value)).join('');
  const table = `<table:table table:name="local-table">${header}<table:table-rows>${rows}</table:table-rows></table:table>`;
  const last = values.length + 1;
  const series = `<chart:series chart:values-cell-range-address="local-table.B2:.B${last}" chart:label-cell-address="local-table.B1" chart:class="chart:bar"/>`;
  const axes = `<chart:axis chart:dimension="x"><chart:categories table:cell-range-address="local-table.A2:.A${last}"/></chart:axis><chart:axis chart:dimension="y"/>`;
  return `<office:body><office:chart><chart:chart svg:width="10cm" svg:height="7cm" chart:class="chart:bar"><chart:plot-area>${axes}${series}</chart:plot-area>${table}</chart:chart></office:chart></office:body>`;
}

export const frame = (href: string): string =>
  `<text:p><draw:frame svg:width="8cm" svg:height="4cm"><draw:image xlink:href="${href}" xlink:type="simple" xlink:show="embed" xlink:actuate="onLoad"/></draw:frame></text:p>`;
