import { zip, zipEntry } from '../../packages/service/test/engines/archives';

/** A PDF with a line of text on each page. An empty line makes a blank page. */
export function pdfOf(pages: readonly string[]): Buffer {
  const font = '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>';
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${pages.map((_, index) => `${3 + 2 * index} 0 R`).join(' ')}] /Count ${pages.length} >>`,
    ...pages.flatMap((text, index) => {
      const content = text === '' ? '' : `BT /F1 12 Tf 72 700 Td (${text}) Tj ET`;
      return [
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents ${4 + 2 * index} 0 R /Resources << /Font << /F1 ${font} >> >> >>`,
        `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
      ];
    }),
  ];
  let text = '%PDF-1.4\n';
  const places = objects.map((object, index) => {
    const place = text.length;
    text += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(place).padStart(10, '0')} 00000 n \n`;
  });
  const table = `xref\n0 ${places.length + 1}\n0000000000 65535 f \n${places.join('')}`;
  const trailer = `trailer << /Size ${places.length + 1} /Root 1 0 R >>\nstartxref\n${text.length}\n%%EOF\n`;
  return Buffer.from(text + table + trailer);
}

/** A zip with these entries. `flags` and `method` are passed on to `zip`. */
export function zipOf(
  entries: Readonly<Record<string, string | Buffer>>,
  { isStored = false, flags, method }: { isStored?: boolean; flags?: number; method?: number } = {},
): Buffer {
  const files = Object.entries(entries).map(([name, data]) => zipEntry(name, data, { isStored }));
  return zip(files, { flags: flags ?? 0, method: method ?? (isStored ? 0 : 8) });
}
