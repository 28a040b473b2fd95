import { setTimeout as sleep } from 'node:timers/promises';
import { listZip, serviceOfAllTests, tinyPng } from '../support';

/** Real conversions over real HTTP. The tests check the bytes of the results without the engine that made them. */

const { client } = serviceOfAllTests();

const dataUri = `data:image/png;base64,${tinyPng.toString('base64')}`;
const report = `---\ntitle: Report\n---\n\n# Numbers\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n![dot](${dataUri})\n`;

describe('documents', () => {
  it('converts Markdown to DOCX with an embedded data: image', async () => {
    const { bytes, headers, name } = await client.convertToBytes({ name: 'report.md', data: report }, 'docx');
    const entries = listZip(bytes);
    expect(entries).toContain('word/document.xml');
    expect(entries.some((entry) => /^word\/media\/.*\.png$/.test(entry))).toBe(true);
    expect(name).toBe('report.docx');
    expect(headers.get('content-length')).toBe(String(bytes.length));
    expect(headers.get('content-type')).toContain('wordprocessingml');
    expect(headers.get('content-disposition')).toContain('filename="report.docx"');
  });

  it('converts Markdown to PDF with an embedded data: image', async () => {
    const withImage = await client.convertToBytes({ name: 'report.md', data: report }, 'pdf');
    expect(withImage.bytes.subarray(0, 5).toString()).toBe('%PDF-');
    expect(withImage.bytes.subarray(-8).toString()).toContain('%%EOF');
    expect(withImage.bytes.toString('latin1')).toMatch(/\/Subtype\s*\/Image/);
    expect(withImage.warning).toEqual({});
  });

  it('makes the same PDF for the same document, at any time and under any name', async () => {
    const once = await client.convertToBytes({ name: 'report.md', data: report }, 'pdf');
    await sleep(1_100);
    const again = await client.convertToBytes({ name: 'stdin.md', data: report }, 'pdf');
    expect(again.bytes.equals(once.bytes)).toBe(true);
  });

  it('reads plain text as text, not as markup', async () => {
    const { bytes } = await client.convertToBytes(
      { name: 'note.txt', data: '# no heading\r\n*stars*\n\nsecond' },
      'html',
    );
    const html = bytes.toString('utf8');
    expect(html).not.toContain('<h1');
    expect(html).toMatch(/<p># no heading<br \/>\s*\*stars\*<\/p>/);
    expect(html).toContain('<p>second</p>');
  });

  it('converts a document to the requested Markdown variant', async () => {
    const html = '<table><tr><th>a</th></tr><tr><td>1</td></tr></table>';
    const { bytes, name } = await client.convertToBytes({ name: 'page.htm', data: html }, 'markdown-gfm');
    expect(name).toBe('page.md');
    expect(bytes.toString('utf8')).toMatch(/\|\s*a\s*\|/);
  });

  it('makes an empty file from an empty document', async () => {
    const { bytes } = await client.convertToBytes({ name: 'blank.md', data: '\n' }, 'txt');
    expect(bytes.toString('utf8').trim()).toBe('');
  });

  it('converts the uploaded result of another conversion', async () => {
    const docx = await client.convertToBytes({ name: 'report.md', data: report }, 'docx');
    const { bytes } = await client.convertToBytes({ name: 'report.docx', data: docx.bytes }, 'pdf');
    expect(bytes.subarray(0, 5).toString()).toBe('%PDF-');
    expect(bytes.toString('latin1')).toMatch(/\/Subtype\s*\/Image/);
  });

  it('converts one upload to several formats', async () => {
    const connector = await client.upload('report.md', report);
    const targets = ['odt', 'epub', 'rtf', 'tex', 'rst', 'pptx'];
    const answers = await Promise.all(
      targets.map((output) => client.post('convert/file', { connector, parameters: { output } })),
    );
    expect(answers.map(({ output }) => output.status)).toEqual(targets.map(() => 'successful'));
  });
});

describe('images of documents', () => {
  it.each(['pdf', 'docx', 'html', 'pptx', 'ipynb', 'odt'])(
    'leaves out images that are not in the file, with a warning (%s)',
    async (to) => {
      const data = 'Before ![chart](chart.png) ![mark](/etc/passwd) after';
      const { bytes, warning } = await client.convertToBytes({ name: 'report.md', data }, to);
      expect(bytes.length).toBeGreaterThan(0);
      expect(Object.keys(warning)).toHaveLength(1);
      expect(Object.values(warning)[0]).toMatch(/data: URI/);
    },
  );

  it('warns that a text format cannot contain the images of the document', async () => {
    const docx = await client.convertToBytes({ name: 'report.md', data: report }, 'docx');
    const { warning } = await client.convertToBytes({ name: 'report.docx', data: docx.bytes }, 'md');
    expect(warning['IMAGES_LOST']).toMatch(/^1 image/);
  });

  it.each([
    ['cut off', tinyPng.subarray(0, 30), 'IMAGES_LOST'],
    ['damaged', Buffer.from(tinyPng).fill(0, 20, 40), 'PDF_SIMPLIFIED'],
  ])('still makes a PDF if an image in it is %s', async (_how, image, name) => {
    const data = `![x](data:image/png;base64,${image.toString('base64')})\n\nText.`;
    const { bytes, warning } = await client.convertToBytes({ name: 'report.md', data }, 'pdf');
    expect([bytes.subarray(0, 5).toString(), Object.keys(warning)]).toEqual(['%PDF-', [name]]);
  });

  it('makes a PDF of a document full of dangling links and citations', async () => {
    const data = '# A {#a}\n\n[x](#nope) [y](#a) @someone [@doe99] [empty]() <a@b.example>\n';
    const { bytes, warning } = await client.convertToBytes({ name: 'links.md', data }, 'pdf');
    expect([bytes.subarray(0, 5).toString(), warning]).toEqual(['%PDF-', {}]);
  });
});

describe('pictures', () => {
  it.each([
    ['webp', (bytes: Buffer) => bytes.subarray(8, 12).toString() === 'WEBP'],
    ['jpeg', (bytes: Buffer) => bytes.subarray(0, 3).equals(Buffer.from([0xff, 0xd8, 0xff]))],
    ['avif', (bytes: Buffer) => bytes.subarray(4, 12).toString() === 'ftypavif'],
    ['tif', (bytes: Buffer) => bytes.subarray(0, 2).toString() === 'II'],
    ['gif', (bytes: Buffer) => bytes.subarray(0, 4).toString() === 'GIF8'],
  ])('converts PNG to %s', async (output, isRight) => {
    expect(isRight((await client.convertToBytes({ name: 'dot.png', data: tinyPng }, output)).bytes)).toBe(true);
  });

  it('warns if the target has no transparency', async () => {
    const { warning } = await client.convertToBytes({ name: 'dot.png', data: tinyPng }, 'jpg');
    expect(Object.keys(warning)).toEqual(['TRANSPARENCY_LOST']);
  });

  it.each(['png', 'pdf'])('converts a picture with the wrong extension to %s, with a warning', async (output) => {
    const { bytes, warning } = await client.convertToBytes({ name: 'dot.webp', data: tinyPng }, output);
    expect(bytes.subarray(1, 4).toString()).toBe(output.toUpperCase());
    expect(Object.keys(warning)).toEqual(['INPUT_IS_ANOTHER_FORMAT']);
  });
});

it.each([
  ['cut.png', tinyPng.subarray(0, 50), 'webp', /PNG image is damaged or cut off/],
  ['text.png', Buffer.from('hello'), 'webp', /not a PNG image/],
  ['letter.docx', Buffer.from('hello'), 'pdf', /not a DOCX document: it is no zip archive/],
  ['letter.docx', Buffer.from('PK\x03\x04 and no more'), 'html', /could not be converted to html: couldn't unpack/],
  ['book.ipynb', Buffer.from('{"cells": 1'), 'md', /ipynb file could not be converted to md/],
  ['broken.svg', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><rect'), 'png', /SVG image/],
])('fails the task of a damaged %s with FAILED_CONVERT and one clear line', async (name, data, output, message) => {
  const { status, body, error } = await client.convert({ name, data }, output);
  expect([status, body.entity?.status, error.code]).toEqual([200, 'completed', 'FAILED_CONVERT']);
  expect(error.message).toMatch(message);
  expect(error.message).not.toContain('\n');
});

describe('untrusted content', () => {
  it('runs no typst code from a document', async () => {
    const data = [
      '---\ntemplate: "@preview/cetz:0.3.0"\nmargin: {x: "read(\\"/etc/passwd\\")"}\nlang: "en\\", x: read(1)"\n---',
      '```{=typst}\n#panic("ran")\n```',
      '`#panic("ran")`{=typst}',
      '[red]{typst:text:fill="panic(1)"}',
      '<pre class="x```#panic()"><code>y</code></pre>',
      '```{.x```#panic("ran")}\ncode\n```',
      '![i](/etc/passwd)',
    ].join('\n\n');
    const { bytes, warning } = await client.convertToBytes({ name: 'code.md', data }, 'pdf', { input: 'md-pandoc' });
    expect(bytes.subarray(0, 5).toString()).toBe('%PDF-');
    // Any other warning would mean that the first typesetting had failed on this code.
    expect(Object.keys(warning)).toEqual(['RESOURCE_NOT_FOUND']);
  });

  it('reads no local files into a document', async () => {
    const included = await client.convertToBytes({ name: 'a.rst', data: '.. include:: /etc/passwd\n\ntext\n' }, 'html');
    expect(included.bytes.toString('utf8')).not.toContain('root:');
    const table = await client.convert({ name: 'b.rst', data: '.. csv-table::\n   :file: /etc/passwd\n' }, 'html');
    expect(table.error.message).toMatch(/etc.passwd: .*does not exist/);
  });
});
