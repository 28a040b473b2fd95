import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import sharp from 'sharp';
import { startTestService, tinyPng } from '../support';
import { chartFrame, frame, odf, paragraph } from './odf';
import { withPrograms } from './with-packages';

/** Compares the PDFs of office files from the service, page by page, with those of `soffice --convert-to pdf`. */

const words = 'Words that fill a line and go on in the next one, so that columns and margins show. '.repeat(8);
const grid = `<table:table table:name="t"><table:table-column table:number-columns-repeated="3"/>${'<table:table-row><table:table-cell office:value-type="float" office:value="1.5"><text:p>1.5</text:p></table:table-cell><table:table-cell table:formula="of:=[.A1]*2" office:value-type="float" office:value="3"><text:p>3</text:p></table:table-cell><table:table-cell office:value-type="string"><text:p>text</text:p></table:table-cell></table:table-row>'.repeat(60)}</table:table>`;
const columns = `<style:style style:name="c" style:family="section"><style:section-properties><style:columns fo:column-count="2" fo:column-gap="1cm"/></style:section-properties></style:style>`;
const header = `<office:automatic-styles><style:page-layout style:name="l"><style:page-layout-properties fo:page-width="21cm" fo:page-height="29.7cm" fo:margin="2cm"/><style:header-style/></style:page-layout></office:automatic-styles><office:master-styles><style:master-page style:name="Standard" style:page-layout-name="l"><style:header>${paragraph('A header')}</style:header></style:master-page></office:master-styles>`;
const slide = (text: string) =>
  `<draw:page draw:name="${text}" draw:master-page-name="m"><draw:frame svg:x="2cm" svg:y="2cm" svg:width="20cm" svg:height="4cm"><draw:text-box>${paragraph(text)}</draw:text-box></draw:frame></draw:page>`;
const master = `<office:automatic-styles><style:page-layout style:name="l"><style:page-layout-properties fo:page-width="28cm" fo:page-height="21cm"/></style:page-layout></office:automatic-styles><office:master-styles><style:master-page style:name="m" style:page-layout-name="l"/></office:master-styles>`;

const sources: Readonly<Record<string, { data: Buffer; others: readonly string[] }>> = {
  'letter.odt': {
    data: odf({
      kind: 'text',
      styles: header,
      automaticStyles: columns,
      body: `${paragraph('Title')}<text:section text:style-name="c" text:name="s">${paragraph(words).repeat(9)}</text:section>${grid}${frame('Pictures/a.png')}`,
      more: { 'Pictures/a.png': tinyPng },
    }),
    others: ['docx', 'doc', 'rtf'],
  },
  'chart.odt': {
    data: odf({ kind: 'text', body: paragraph('Sales') + chartFrame(), chart: [3, 1, 2] }),
    others: ['docx'],
  },
  'sums.ods': { data: odf({ kind: 'spreadsheet', body: grid }), others: ['xlsx', 'xls'] },
  'talk.odp': {
    data: odf({ kind: 'presentation', styles: master, body: slide('One') + slide('Two') }),
    others: ['pptx', 'ppt'],
  },
};

withPrograms(['writer', 'calc', 'impress'], () => {
  it("a PDF from the service looks like LibreOffice's own", async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'fidelity-'));
    const { client, stop } = await startTestService({
      engines: ['libreoffice', 'sharp', 'pdfium'],
      conversionConcurrency: 2,
    });
    const converted = async (name: string, data: Buffer, output: string) =>
      (await client.convertToBytes({ name, data }, output, output === 'tiff' ? { dpi: 60 } : {})).bytes;
    const files = new Map<string, Buffer>();
    const all = Object.entries(sources);
    const make = async ([name, { data, others }]: (typeof all)[number]) => {
      files.set(name, data);
      for (const other of others) files.set(name.replace(/\w+$/, other), await converted(name, data, other));
    };
    await Promise.all(all.map(make));
    // In one run, because starting soffice takes longest. The names differ before the last dot: a.odt and a.docx would both become a.pdf.
    const placeOf = (name: string) => path.join(folder, `${name}.as.${path.extname(name).slice(1)}`);
    for (const [name, data] of files) writeFileSync(placeOf(name), data);
    const profile = `-env:UserInstallation=file://${folder}/profile`;
    const toPdf = [profile, '--headless', '--convert-to', 'pdf', '--outdir', folder];
    execFileSync('soffice', [...toPdf, ...[...files.keys()].map(placeOf)], { stdio: 'ignore' });
    const compare = async ([name, data]: readonly [string, Buffer]) => {
      const own = readFileSync(path.join(folder, `${name}.as.pdf`));
      const [ours, theirs] = await Promise.all(
        [await converted(name, data, 'pdf'), own].map((pdf) => converted('a.pdf', pdf, 'tiff')),
      );
      expect([name, (await difference(ours ?? own, theirs ?? data)) < 40]).toEqual([name, true]);
      // The measure must detect a real difference.
      const mirrored = await sharp(theirs, { pages: -1 }).flop().tiff().toBuffer();
      expect(await difference(ours ?? own, mirrored)).toBeGreaterThan(80);
    };
    await Promise.all([...files].map(compare));
    expect(files.size).toBe(12);
    await stop();
  });
});

/** The largest difference between two pixels of blurred pages; at most 255. */
async function difference(one: Buffer, other: Buffer): Promise<number> {
  const [a, b] = await Promise.all(
    [one, other].map((tiff) =>
      sharp(tiff, { pages: -1 }).greyscale().blur(2).raw().toBuffer({ resolveWithObject: true }),
    ),
  );
  if (!a || !b) throw new Error('No pages.');
  expect([a.info.width, a.info.height]).toEqual([b.info.width, b.info.height]);
  return a.data.reduce((most, value, at) => Math.max(most, Math.abs(value - (b.data[at] ?? 0))), 0);
}
