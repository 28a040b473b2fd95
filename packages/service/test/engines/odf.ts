import { zip, zipEntry } from './bombs';

/** OpenDocument files written by hand. */

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
  'xlink http://www.w3.org/1999/xlink',
  'dom http://www.w3.org/2001/xml-events',
  'ooo http://openoffice.org/2004/office',
].map((line) => line.replace(/^(\S+) (.*)$/, 'xmlns:$1="$2"'));

interface OdfSource {
  kind: 'text' | 'spreadsheet' | 'presentation';
  /** What stands in the body. */
  body: string;
  /** Styles of the content, and scripts before them. */
  automaticStyles?: string;
  scripts?: string;
  /** Master pages with their layouts: `styles.xml` but for its root. */
  styles?: string;
  doctype?: string;
  more?: Readonly<Record<string, string | Buffer>>;
}

export function odf({
  kind,
  body,
  automaticStyles = '',
  scripts = '',
  styles = '',
  doctype = '',
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
    ...more,
  };
  const entries = Object.keys(parts).map(
    (name) =>
      `<manifest:file-entry manifest:full-path="${name}" manifest:media-type="${name.endsWith('.xml') ? 'text/xml' : ''}"/>`,
  );
  const manifest = `<?xml version="1.0"?><manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0" manifest:version="1.2"><manifest:file-entry manifest:full-path="/" manifest:media-type="${type}"/>${entries.join('')}</manifest:manifest>`;
  return zip([
    zipEntry('mimetype', type),
    zipEntry('META-INF/manifest.xml', manifest),
    ...Object.entries(parts).map(([name, data]) => zipEntry(name, data)),
  ]);
}

export function paragraph(text: string): string {
  return `<text:p>${text}</text:p>`;
}

export function frame(href: string): string {
  return `<text:p><draw:frame svg:width="8cm" svg:height="4cm"><draw:image xlink:href="${href}" xlink:type="simple" xlink:show="embed" xlink:actuate="onLoad"/></draw:frame></text:p>`;
}
