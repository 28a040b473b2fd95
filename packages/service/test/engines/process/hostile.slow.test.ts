import { createSocket } from 'node:dgram';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import sharp from 'sharp';
import type { EngineRequest } from '../../../src/engines/conversion';
import type { Convert } from '../../../src/engines/engine';
import { convertFilm } from '../../../src/engines/film/film-engine';
import { convertOffice } from '../../../src/engines/office-engine';
import { printPage } from '../../../src/engines/page-engine';
import { convertPdf } from '../../../src/engines/pdf/pdf-reader';
import { startTestService } from '../../support';
import { relation } from '../archives';
import { docxBomb, hugePng } from '../bombs';
import { docx, para } from '../docx';
import { frame, odf, paragraph } from '../odf';
import { withPrograms } from '../with-packages';

/**
 * Documents that try to make a program open other files, call out or run code. The programs run unconfined here, to test that they refuse
 * on their own; where bubblewrap works, it protects in addition.
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
  await sharp({ create: { width: 400, height: 200, channels: 3, background: { r: 255, g: 0, b: 0 } } })
    .png()
    .toFile(secretPicture);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

beforeEach(() => void (requests = []));

afterAll(() => void server.close());

let conversions = 0;

const load: Readonly<Record<string, Convert>> = {
  libreoffice: convertOffice,
  ffmpeg: convertFilm,
  chromium: printPage,
  pdfium: async (request) => convertPdf(request, readFileSync(request.inputPath)),
};

/** Converts in an unconfined process, and returns the result. */
async function convert(
  engine: string,
  data: string | Buffer,
  [reader, writer, output]: [string, string, string],
): Promise<Buffer> {
  const work = path.join(folder, `process/conversion-${(conversions += 1)}`);
  mkdirSync(work, { recursive: true });
  const request: EngineRequest = {
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

const writerPdf = 'writer_pdf_Export';

/** Documents that show the content of an address, which may be a file URL. */
const links: readonly [title: string, reader: string, writer: string, document: (href: string) => Buffer][] = [
  ['a picture', 'odt', writerPdf, (href) => text(frame(href))],
  [
    'a section',
    'odt',
    writerPdf,
    (href) =>
      text(
        `<text:section text:name="s"><text:section-source xlink:href="${href}" xlink:type="simple"/>${paragraph('old')}</text:section>`,
      ),
  ],
  [
    'an object',
    'odt',
    writerPdf,
    (href) =>
      text(
        `<text:p><draw:frame svg:width="8cm" svg:height="4cm"><draw:object xlink:href="${href}" xlink:type="simple"/></draw:frame></text:p>`,
      ),
  ],
  [
    'a frame',
    'odt',
    writerPdf,
    (href) =>
      text(
        `<text:p><draw:frame svg:width="8cm" svg:height="4cm"><draw:floating-frame xlink:href="${href}" xlink:type="simple"/></draw:frame></text:p>`,
      ),
  ],
  ['a picture of Word', 'docx', writerPdf, (href) => docxWithPicture(href)],
  [
    'a formula',
    'ods',
    'calc_pdf_Export',
    (href) =>
      odf({
        kind: 'spreadsheet',
        body: `<table:table table:name="s"><table:table-row><table:table-cell office:value-type="string"><text:p>before</text:p></table:table-cell><table:table-cell table:formula="of:='${href}'#$secret.A1"/><table:table-cell table:formula="of:=COM.MICROSOFT.WEBSERVICE(&quot;${href}&quot;)"/><table:table-cell office:value-type="string"><text:p>after</text:p></table:table-cell></table:table-row></table:table>`,
      }),
  ],
];

function text(body: string): Buffer {
  return odf({ kind: 'text', body: `${paragraph('before')}${body}${paragraph('after')}` });
}

it('refuses a web page named as an RTF document, which LibreOffice would print as an empty page', async () => {
  const converting = convert('libreoffice', '<p>Words of the page.</p>', ['rtf', writerPdf, 'pdf']);
  await expect(converting).rejects.toThrow('The file is not an RTF document');
});

withPrograms(['impress'], () => {
  it('makes no request for a picture in a presentation', async () => {
    const picture = `<draw:frame svg:width="5cm" svg:height="5cm"><draw:image xlink:href="${url}/a.png"/></draw:frame>`;
    const slides = odf({ kind: 'presentation', body: `<draw:page draw:name="1">${picture}</draw:page>` });
    await convert('libreoffice', slides, ['odp', 'impress_pdf_Export', 'pdf']);
    expect(requests).toEqual([]);
  });
});

withPrograms(['writer', 'calc'], () => {
  it('prints an embedded picture, which makes the tests below meaningful', async () => {
    const more = { 'Pictures/a.png': readFileSync(secretPicture) };
    const body = paragraph('shown') + frame('Pictures/a.png');
    const pdf = await convert('libreoffice', odf({ kind: 'text', body, more }), ['odt', writerPdf, 'pdf']);
    const { text, red } = await read(pdf);
    expect(text).toContain('shown');
    expect(red).toBeGreaterThan(10_000);
  });

  it.each(links)('shows nothing of %s from outside, and makes no request', async (_title, reader, writer, document) => {
    for (const href of [`${url}/a.png`, `file://${secretText}`, `file://${secretPicture}`]) {
      const { text, red } = await read(await convert('libreoffice', document(href), [reader, writer, 'pdf']));
      expect(text).toMatch(/before[^]*after/);
      expect(text).not.toContain(secret);
      expect([red, requests]).toEqual([0, []]);
    }
  });

  it('refuses a document with entity declarations', async () => {
    const doctype = `<!DOCTYPE d [<!ENTITY x SYSTEM "file://${secretText}"><!ENTITY y SYSTEM "${url}/y">]>`;
    const source = odf({ kind: 'text', doctype, body: paragraph('before &x; &y;') });
    await expect(convert('libreoffice', source, ['odt', writerPdf, 'pdf'])).rejects.toThrow(
      /^LibreOffice could not convert the odt file to pdf/,
    );
    expect(requests).toEqual([]);
  });

  it('runs no macro when it opens a document', async () => {
    const { text } = await read(await convert('libreoffice', documentWithMacro(), ['odt', writerPdf, 'pdf']));
    expect(text).toContain('text');
    expect(existsSync(proof)).toBe(false);
  });
});

function documentWithMacro(): Buffer {
  const basic = `Sub Main\nOpen "${proof}" For Output As #1\nPrint #1, "ran"\nClose #1\nEnd Sub`;
  const script = 'vnd.sun.star.script:Standard.Module1.Main?language=Basic&amp;location=document';
  const scripts = `<office:scripts><office:event-listeners><script:event-listener script:language="ooo:script" script:event-name="dom:load" xlink:href="${script}" xlink:type="simple"/></office:event-listeners></office:scripts>`;
  const more = {
    'Basic/Standard/Module1.xml': `<?xml version="1.0"?><!DOCTYPE script:module PUBLIC "-//OpenOffice.org//DTD OfficeDocument 1.0//EN" "module.dtd"><script:module xmlns:script="http://openoffice.org/2000/script" script:name="Module1" script:language="StarBasic">${basic.replaceAll('"', '&quot;')}</script:module>`,
    'Basic/Standard/script-lb.xml': `<?xml version="1.0"?><library:library xmlns:library="http://openoffice.org/2000/library" library:name="Standard" library:readonly="false" library:passwordprotected="false"><library:element library:name="Module1"/></library:library>`,
    'Basic/script-lc.xml': `<?xml version="1.0"?><library:libraries xmlns:library="http://openoffice.org/2000/library" xmlns:xlink="http://www.w3.org/1999/xlink"><library:library library:name="Standard" library:link="false"/></library:libraries>`,
  };
  return odf({ kind: 'text', body: paragraph('text'), scripts, more });
}

withPrograms(['ffmpeg'], () => {
  it('refuses a playlist instead of a film, under any name', async () => {
    const film = path.join(folder, 'secret.mp4');
    const list = path.join(folder, 'list.mov');
    const result = path.join(folder, 'list.gif');
    execFileSync('ffmpeg', ['-v', 'error', '-f', 'lavfi', '-i', 'testsrc=duration=1:size=64x48:rate=5', film]);
    const dash = (address: string) =>
      `<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT1S" profiles="urn:mpeg:dash:profile:isoff-on-demand:2011"><Period><AdaptationSet mimeType="video/mp4"><Representation id="1" bandwidth="1"><BaseURL>${address}</BaseURL></Representation></AdaptationSet></Period></MPD>`;
    // FFmpeg on its own follows the list.
    writeFileSync(list, dash(`file://${film}`));
    execFileSync('ffmpeg', ['-v', 'error', '-nostdin', '-i', list, result]);
    expect(readFileSync(result, 'latin1')).toMatch(/^GIF89a/);
    const lists = [
      readFileSync(list),
      dash(`${url}/a.mp4`),
      `#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile://${film}\n#EXT-X-ENDLIST\n`,
      `ffconcat version 1.0\nfile ${film}\n`,
    ];
    for (const each of lists) {
      await expect(convert('ffmpeg', each, ['mov', 'gif', 'gif'])).rejects.toThrow(
        /^(FFmpeg could not convert the mov file to gif|The mov file is damaged)/,
      );
    }
    expect(requests).toEqual([]);
  });
});

withPrograms(['chromium'], () => {
  it('shows no file, runs no script and makes no request', async () => {
    const page = `<p>before</p><iframe src="file://${secretText}"></iframe><object data="file://${secretText}"></object><img src="file://${secretPicture}"><img src="${url}/a.png">
      <link rel="stylesheet" href="${url}/a.css"><style>@import "${url}/b.css"; p { background: url(${url}/c.png) }</style>
      <iframe src="${url}/frame"></iframe><iframe srcdoc="<img src='${url}/inner'>"></iframe><meta http-equiv="refresh" content="0; url=${url}/away">
      <script>document.body.innerHTML = 'scripted'; fetch('${url}/fetch')</script><img src=x onerror="document.body.innerHTML = 'scripted'">`;
    const { text, red } = await read(await convert('chromium', page, ['html', 'pdf', 'pdf']));
    expect(text).toContain('before');
    expect(text).not.toMatch(/TheSecret|scripted/);
    expect([red, requests]).toEqual([0, []]);
  });

  it('runs no script in a frame with allow-scripts, sends no packet, and leaves nothing in /tmp', async () => {
    const before = readdirSync('/tmp');
    const packets: string[] = [];
    const listener = createSocket('udp4', (message) => packets.push(message.toString('latin1')));
    await new Promise<void>((resolve) => listener.bind(0, '127.0.0.1', resolve));
    const script = `document.body.innerHTML = 'scripted'; const c = new RTCPeerConnection({ iceServers: [{ urls: 'stun:127.0.0.1:${listener.address().port}' }] }); c.createDataChannel('a'); c.createOffer().then((offer) => c.setLocalDescription(offer))`;
    const page = `<p>before</p><iframe sandbox="allow-scripts" srcdoc="<p>framed</p><script>${script}</script>"></iframe>`;
    const { text } = await read(await convert('chromium', page, ['html', 'pdf', 'pdf']));
    listener.close();
    expect(text).toContain('framed');
    expect([text.includes('scripted'), packets]).toEqual([false, []]);
    expect(readdirSync('/tmp').filter((name) => /^page-|[cC]hromium/.test(name) && !before.includes(name))).toEqual([]);
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

function docxWithPicture(href: string): Buffer {
  const picture = `<w:p><w:r><w:drawing><wp:inline><wp:extent cx="2880000" cy="1440000"/><wp:docPr id="1" name="p"/><a:graphic><a:graphicData uri="http://schemas.openxmlformats.org/drawingml/2006/picture"><pic:pic><pic:nvPicPr><pic:cNvPr id="1" name="p"/><pic:cNvPicPr/></pic:nvPicPr><pic:blipFill><a:blip r:link="r1"/><a:stretch><a:fillRect/></a:stretch></pic:blipFill><pic:spPr><a:xfrm><a:off x="0" y="0"/><a:ext cx="2880000" cy="1440000"/></a:xfrm><a:prstGeom prst="rect"/></pic:spPr></pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing></w:r></w:p>`;
  const linked = relation('r1', 'image', `${href}" TargetMode="External`);
  return docx(para('before') + picture + para('after'), {}, { relations: [linked] });
}
