import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import sharp from 'sharp';
import type { ConversionRequest } from '../../src/engines/conversion';
import type { Convert } from '../../src/engines/engine';
import { convertFilm } from '../../src/engines/film-engine';
import { convertOffice } from '../../src/engines/office-engine';
import { printPage } from '../../src/engines/page-engine';
import { convertPdf } from '../../src/engines/pdf-reader';
import { startTestService } from '../support';
import { docxBomb, hugePng, zip, zipEntry } from './bombs';
import { frame, odf, paragraph } from './odf';
import { withPrograms } from './with-packages';

/**
 * Documents that want a program of the machine to open other files, to call somebody, or to run something. Here nothing shuts the
 * programs in: what they refuse, they refuse by themselves, and where bubblewrap works there is nothing to be found besides.
 */

const folder = mkdtempSync(path.join(tmpdir(), 'hostile-'));
const secret = 'TheSecretOfTheServer';
const secretText = path.join(folder, 'secret.txt');
const secretPicture = path.join(folder, 'secret.png');
const secretTable = path.join(folder, 'secret.csv');
const proof = path.join(folder, 'proof');
let requests: string[] = [];
let url = '';

const server = http.createServer((request, response) => {
  requests.push(request.url ?? '');
  response.end(secret);
});

beforeAll(async () => {
  writeFileSync(secretText, `${secret}\n`);
  writeFileSync(secretTable, `${secret},2\n`);
  const red = { r: 255, g: 0, b: 0 };
  await sharp({ create: { width: 400, height: 200, channels: 3, background: red } })
    .png()
    .toFile(secretPicture);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

beforeEach(() => {
  requests = [];
});

afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

let conversions = 0;

const load: Readonly<Record<string, Convert>> = {
  libreoffice: convertOffice,
  ffmpeg: convertFilm,
  chromium: printPage,
  pdfium: async (request) => convertPdf(request, readFileSync(request.inputPath)),
};

/** What the engine makes of it, in a process that nothing shuts in. */
async function convert(
  engine: string,
  data: string | Buffer,
  [reader, writer, output]: [string, string, string],
): Promise<Buffer> {
  const work = path.join(folder, `process/conversion-${(conversions += 1)}`);
  mkdirSync(work, { recursive: true });
  const request: ConversionRequest = {
    route: { engine, reader, writer },
    inputPath: path.join(work, `input.${reader}`),
    outputPath: path.join(work, 'output'),
    ...{ title: 'hostile', inputFormat: reader, outputFormat: output, parameters: {}, timeoutMs: 60_000 },
  };
  writeFileSync(request.inputPath, data);
  const converted = await load[engine]?.(request);
  if (!converted) throw new Error(`No engine ${engine}.`);
  return 'file' in converted ? readFileSync(converted.file) : Buffer.from(converted.data);
}

async function read(pdf: Buffer): Promise<{ text: string; red: number }> {
  const text = (await convert('pdfium', pdf, ['pdf', 'text', 'txt'])).toString();
  const picture = await convert('pdfium', pdf, ['pdf', 'png', 'png']);
  const pixels = await sharp(picture).removeAlpha().raw().toBuffer();
  let red = 0;
  for (let at = 0; at < pixels.length; at += 3) {
    if ((pixels[at] ?? 0) > 200 && (pixels[at + 1] ?? 0) < 60 && (pixels[at + 2] ?? 0) < 60) red += 1;
  }
  return { text, red };
}

const asPdf: [string, string, string] = ['odt', 'writer_pdf_Export', 'pdf'];

withPrograms(['writer'], () => {
  it('puts a picture of the document into the PDF, so that what follows proves something', async () => {
    const more = { 'Pictures/a.png': readFileSync(secretPicture) };
    const { text, red } = await read(
      await convert(
        'libreoffice',
        odf({ kind: 'text', body: paragraph('shown') + frame('Pictures/a.png'), more }),
        asPdf,
      ),
    );
    expect(text).toContain('shown');
    expect(red).toBeGreaterThan(10_000);
  });

  it.each([
    ['a picture of a file', () => frame(`file://${secretPicture}`)],
    ['a picture of an address', () => frame(`${url}/a.png`)],
    ['a section of a file', () => section(`file://${secretText}`)],
    ['a section of an address', () => section(`${url}/a.txt`)],
    [
      'an object of a file',
      () =>
        `<text:p><draw:frame svg:width="8cm" svg:height="4cm"><draw:object xlink:href="file://${secretText}" xlink:type="simple"/></draw:frame></text:p>`,
    ],
    [
      'a field of a file',
      () =>
        `<text:p><text:database-display xlink:href="file://${secretTable}" text:column-name="x" text:table-name="secret">old</text:database-display></text:p>`,
    ],
  ])('shows nothing of %s, and asks nobody', async (_title, body) => {
    const source = odf({ kind: 'text', body: `${paragraph('before')}${body()}${paragraph('after')}` });
    const { text, red } = await read(await convert('libreoffice', source, asPdf));
    expect(text).toMatch(/before[^]*after/);
    expect(text).not.toContain(secret);
    expect(red).toBe(0);
    expect(requests).toEqual([]);
  });

  it('shows nothing of a file that a text of Word includes', async () => {
    const field = (code: string) =>
      `<w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>${code}</w:instrText></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r></w:p>`;
    const body = [
      `INCLUDETEXT "${secretText}"`,
      `INCLUDEPICTURE "${secretPicture}" \\d`,
      `INCLUDEPICTURE "${url}/x.png" \\d`,
    ].map(field);
    const { text, red } = await read(
      await convert('libreoffice', docx(`<w:p><w:r><w:t>before</w:t></w:r></w:p>${body.join('')}`), [
        'docx',
        'writer_pdf_Export',
        'pdf',
      ]),
    );
    expect(text).toContain('before');
    expect(text).not.toContain(secret);
    expect([red, requests]).toEqual([0, []]);
  });

  it('resolves no entity of XML outside of the document', async () => {
    const doctype = `<!DOCTYPE d [<!ENTITY x SYSTEM "file://${secretText}"><!ENTITY y SYSTEM "${url}/y">]>`;
    const source = odf({ kind: 'text', doctype, body: paragraph('before &x; &y;') });
    const text = await convert('libreoffice', source, asPdf).then(
      async (pdf) => (await read(pdf)).text,
      (error: unknown) => String(error),
    );
    expect(text).not.toContain(secret);
    expect(requests).toEqual([]);
  });

  it('runs no macro when a document is opened', async () => {
    const basic = `Sub Main\nOpen "${proof}" For Output As #1\nPrint #1, "ran"\nClose #1\nEnd Sub`;
    const script = 'vnd.sun.star.script:Standard.Module1.Main?language=Basic&amp;location=document';
    const scripts = `<office:scripts><office:event-listeners><script:event-listener script:language="ooo:script" script:event-name="dom:load" xlink:href="${script}" xlink:type="simple"/></office:event-listeners></office:scripts>`;
    const module = `<?xml version="1.0"?><!DOCTYPE script:module PUBLIC "-//OpenOffice.org//DTD OfficeDocument 1.0//EN" "module.dtd"><script:module xmlns:script="http://openoffice.org/2000/script" script:name="Module1" script:language="StarBasic">${basic.replaceAll('"', '&quot;')}</script:module>`;
    const library = `<?xml version="1.0"?><library:library xmlns:library="http://openoffice.org/2000/library" library:name="Standard" library:readonly="false" library:passwordprotected="false"><library:element library:name="Module1"/></library:library>`;
    const container = `<?xml version="1.0"?><library:libraries xmlns:library="http://openoffice.org/2000/library" xmlns:xlink="http://www.w3.org/1999/xlink"><library:library library:name="Standard" library:link="false"/></library:libraries>`;
    const more = {
      'Basic/Standard/Module1.xml': module,
      'Basic/Standard/script-lb.xml': library,
      'Basic/script-lc.xml': container,
    };
    const { text } = await read(
      await convert('libreoffice', odf({ kind: 'text', body: paragraph('text'), scripts, more }), asPdf),
    );
    expect(text).toContain('text');
    expect(existsSync(proof)).toBe(false);
  });
});

withPrograms(['calc'], () => {
  it('follows no formula to a file or an address', async () => {
    const cell = (formula: string) =>
      `<table:table-row><table:table-cell table:formula="of:=${formula}" office:value-type="string"><text:p>old</text:p></table:table-cell></table:table-row>`;
    const rows = [
      `'file://${secretTable}'#$secret.A1`,
      `WEBSERVICE(&quot;${url}/w&quot;)`,
      `DDE(&quot;soffice&quot;;&quot;${secretTable}&quot;;&quot;A1&quot;)`,
    ];
    const body = `<table:table table:name="s">${rows.map(cell).join('')}</table:table>`;
    const { text } = await read(
      await convert('libreoffice', odf({ kind: 'spreadsheet', body }), ['ods', 'calc_pdf_Export', 'pdf']),
    );
    expect(text.length).toBeGreaterThan(2);
    expect(text).not.toContain(secret);
    expect(requests).toEqual([]);
  });
});

withPrograms(['ffmpeg'], () => {
  it('takes no list of other files for a film, whatever its name is', async () => {
    const lists = [
      `#EXTM3U\n#EXT-X-MEDIA-SEQUENCE:0\n#EXTINF:10.0,\nfile://${secretPicture}\n#EXT-X-ENDLIST\n`,
      `#EXTM3U\n#EXTINF:10.0,\n${url}/a.ts\n#EXT-X-ENDLIST\n`,
      `ffconcat version 1.0\nfile ${secretPicture}\n`,
    ];
    for (const list of lists) {
      await expect(convert('ffmpeg', list, ['mov', 'gif', 'gif'])).rejects.toThrow(
        /^FFmpeg could not convert the mov file to gif/,
      );
    }
    expect(requests).toEqual([]);
  });
});

withPrograms(['chromium'], () => {
  it('shows no file, runs no script and asks nobody', async () => {
    const page = `<p>before</p><iframe src="file://${secretText}"></iframe><object data="file://${secretText}"></object><img src="file://${secretPicture}"><img src="${url}/a.png">
      <link rel="stylesheet" href="${url}/a.css"><style>@import "${url}/b.css"; p { background: url(${url}/c.png) }</style>
      <iframe src="${url}/frame"></iframe><iframe srcdoc="<img src='${url}/inner'>"></iframe><meta http-equiv="refresh" content="0; url=${url}/away">
      <script>document.body.innerHTML = 'scripted'; fetch('${url}/fetch')</script><img src=x onerror="document.body.innerHTML = 'scripted'">`;
    const { text, red } = await read(await convert('chromium', page, ['html', 'pdf', 'pdf']));
    expect(text).toContain('before');
    expect(text).not.toMatch(/TheSecret|scripted/);
    expect([red, requests]).toEqual([0, []]);
  });
});

withPrograms(['writer', 'tesseract'], () => {
  it('bombs end with FAILED_CONVERT within the limits, and the next conversion succeeds', async () => {
    const limits = {
      conversionTimeoutMs: 15_000,
      maxConversionMemoryBytes: 1024 * 1024 * 1024,
      conversionConcurrency: 1,
    };
    const { client, stop } = await startTestService({ ...limits, engines: ['libreoffice', 'tesseract', 'sharp'] });
    for (const [name, data, output, message] of [
      ['bomb.docx', docxBomb(3_000), 'pdf', /unpacks to 3001 MiB/],
      ['liar.docx', docxBomb(3_000, { declaredBytes: 999 }), 'pdf', /15 s|1024 MiB|damaged/],
      ['claim.png', hugePng(50_000, { rows: 9 }), 'txt', /damaged|megapixels/],
    ] as const) {
      const { error } = await client.convert({ name, data }, output);
      expect([name, error.code]).toEqual([name, 'FAILED_CONVERT']);
      expect(error.message).toMatch(message);
    }
    const fine = odf({ kind: 'text', body: paragraph('fine') });
    expect((await client.convert({ name: 'fine.odt', data: fine }, 'pdf')).output.status).toBe('successful');
    await stop();
  });
});

function section(href: string): string {
  return `<text:section text:name="s"><text:section-source xlink:href="${href}" xlink:type="simple"/>${paragraph('old')}</text:section>`;
}

function docx(body: string): Buffer {
  const main = 'http://schemas.openxmlformats.org/wordprocessingml/2006/main';
  const office = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument';
  const types = 'http://schemas.openxmlformats.org/package/2006/content-types';
  const type = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml';
  return zip([
    zipEntry(
      '[Content_Types].xml',
      `<?xml version="1.0"?><Types xmlns="${types}"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/word/document.xml" ContentType="${type}"/></Types>`,
    ),
    zipEntry(
      '_rels/.rels',
      `<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="${office}" Target="word/document.xml"/></Relationships>`,
    ),
    zipEntry(
      'word/document.xml',
      `<?xml version="1.0"?><w:document xmlns:w="${main}"><w:body>${body}</w:body></w:document>`,
    ),
  ]);
}
