import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { EngineRequest } from '../../src/engines/conversion';
import { engines } from '../../src/engines/engines-table';
import { asItIs, fileKindOf } from '../../src/engines/file-kind';
import { tinyPng } from '../support';
import { docx, para } from './docx';
import { odf, paragraph } from './odf';
import { filledForm } from './pdfs';
import { xlsx } from './xlsx';

/** Files whose contents do not match their names. */

const word = docx(para('text'));
const sheet = xlsx([{ rows: '<row r="1"><c r="A1"><v>1</v></c></row>' }]);
const rtf = Buffer.from('{\\rtf1 text}');

describe('the kind of a file', () => {
  it.each([
    ['docx', word],
    ['xlsx', sheet],
    ['odt', odf({ kind: 'text', body: paragraph('a') })],
    ['pdf', filledForm()],
    ['rtf', rtf],
    ['png', tinyPng],
    ['html', Buffer.from('<html><body>a table for Excel</body></html>')],
    ['xml', Buffer.from('<?xml version="1.0"?>\n<Workbook>')],
    ['mht', Buffer.from('MIME-Version: 1.0\r\n')],
    ['tsv', Buffer.from('a\tb\r\n1\t2')],
    ['tsv', Buffer.from('\ufeffa\tb', 'utf16le')],
    ['txt', Buffer.from('for whom it may concern')],
  ])('is detected from the contents: %s', (kind, data) => expect(fileKindOf(data, 'xls')).toBe(kind));

  it.each([Buffer.from('# text'), Buffer.from('PK'), Buffer.alloc(0), Buffer.from('<html>', 'utf16le')])(
    'is unknown otherwise',
    (data) => expect(fileKindOf(data, 'md')).toBeUndefined(),
  );
});

describe('a file with the extension of another format', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'kinds-'));

  async function read(data: Buffer, [engineName, inputFormat, reader, writer]: [string, string, string, string]) {
    const inputPath = path.join(folder, `input.${inputFormat}`);
    writeFileSync(inputPath, data);
    const engine = engines.find(({ name }) => name === engineName);
    if (!engine) throw new Error(`No engine ${engineName}.`);
    const request: EngineRequest = {
      ...{ route: { engine: engineName, reader, writer }, inputPath, outputPath: '', title: 'a', inputFormat },
      ...{ outputFormat: writer, parameters: {}, timeoutMs: 1 },
    };
    return asItIs(request, engine);
  }

  it.each([
    [word, ['libreoffice', 'doc', 'doc', 'writer_pdf_Export'], 'docx'],
    [rtf, ['libreoffice', 'doc', 'doc', 'writer_pdf_Export'], 'rtf'],
    [sheet, ['libreoffice', 'xls', 'xls', 'calc_pdf_Export'], 'xlsx'],
    [word, ['pandoc', 'odt', 'odt', 'html5'], 'docx'],
    [sheet, ['sheets', 'ods', 'ods', 'csv'], 'xlsx'],
  ] as [Buffer, [string, string, string, string], string][])(
    'is read according to its contents: %#',
    async (data, route, kind) => {
      const { request, warnings } = await read(data, route);
      expect([request.inputFormat, request.route.reader]).toEqual([kind, kind]);
      expect(Object.keys(warnings)).toEqual(['INPUT_IS_ANOTHER_FORMAT']);
    },
  );

  it.each([
    [
      filledForm(),
      ['pandoc', 'docx', 'docx', 'html5'],
      /^The file is named docx, but it is of the format pdf \(Portable/,
    ],
    [tinyPng, ['pandoc', 'txt', 'plain-text', 'html5'], /^The file is named txt, but it is of the format png /],
  ] as [Buffer, [string, string, string, string], RegExp][])(
    'fails with its actual format if the engine cannot read that: %#',
    async (data, route, message) => await expect(read(data, route)).rejects.toThrow(message),
  );

  it('is not detected for text formats', async () =>
    expect((await read(Buffer.from('<html>'), ['pandoc', 'md', 'github-markdown', 'html5'])).warnings).toEqual({}));
});
