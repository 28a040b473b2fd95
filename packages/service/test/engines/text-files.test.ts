import { serviceOfAllTests } from '../support';
import { cellsOf } from './tables';

/** What people's programs save as text, converted: every letter of it is in the result. */

const { client } = serviceOfAllTests({ conversionConcurrency: 1 });

const letters = 'Größe naïve ça';
const encoded: [string, Buffer, string[]][] = [
  ['Latin-1', Buffer.from(letters, 'latin1'), ['ENCODING_GUESSED']],
  ['UTF-16 LE', Buffer.from(`\ufeff${letters}`, 'utf16le'), []],
  ['UTF-16 BE', Buffer.from(`\ufeff${letters}`, 'utf16le').swap16(), []],
  ['UTF-16 without a byte order mark', Buffer.from(letters, 'utf16le'), []],
];

describe.each(encoded)('a text in %s', (_title, data, warnings) => {
  it.each(['txt', 'md', 'rst', 'csv', 'html'])('is read letter by letter as %s', async (extension) => {
    const converted = await client.convertToBytes({ name: `a.${extension}`, data }, 'html');
    expect(Object.keys(converted.warning)).toEqual(warnings);
    expect(converted.bytes.toString('utf8')).toContain(letters);
  });
});

describe('a warning about the encoding', () => {
  it('is in the result of a PDF, and of a task that is asked for later', async () => {
    const data = Buffer.from(letters, 'latin1');
    const { output, warning } = await client.convert({ name: 'a.md', data }, 'pdf');
    expect(warning['ENCODING_GUESSED']).toMatch(/was read as Windows-1252\. If letters are wrong, save it in UTF-8/);
    const { result } = await client.waitForTask(output.connector ?? '');
    expect(result.warning).toEqual(warning);
  });
});

describe('a file that is no text', () => {
  it.each(['md', 'txt', 'csv', 'html', 'ipynb'])('ends with FAILED_CONVERT as %s', async (extension) => {
    let state = 1;
    const noise = Array.from({ length: 3_000 }, () => (state = (state * 48271) % 0x7fffffff) >> 12);
    const { error } = await client.convert({ name: `a.${extension}`, data: Buffer.from(noise) }, 'html');
    expect(error).toEqual({
      code: 'FAILED_CONVERT',
      message: `The ${extension} file is not text in UTF-8, UTF-16 or Windows-1252. Save it in UTF-8; if it is no text, correct its extension.`,
    });
  });
});

describe('plain text', () => {
  it('keeps the spaces that do not break', async () => {
    const { bytes } = await client.convertToBytes({ name: 'a.txt', data: '10\u00a0000\u202f€' }, 'html');
    expect(bytes.toString('utf8')).toMatch(/<p>10( |&nbsp;|\u00a0)000(\u202f|&#8239;)€<\/p>/);
  });

  it('keeps lines that end with CR alone', async () => {
    const { bytes } = await client.convertToBytes({ name: 'a.md', data: 'one\rtwo\r\rthree\r' }, 'html');
    expect(bytes.toString('utf8')).toMatch(/<p>one\s+two<\/p>\s*<p>three<\/p>/);
  });
});

describe('a CSV file of a spreadsheet program', () => {
  const rows = 'Stadt;Größe;Anteil\r\n"Köln; links";1,5;50 %\r\n"„Zitat“ ""x""";2,5;\r\n';

  it.each([
    ['semicolons, in UTF-8', Buffer.from(`\ufeff${rows}`)],
    ['tabs, in UTF-16', Buffer.from(`\ufeff${rows.replaceAll(/;(?! )/g, '\t')}`, 'utf16le')],
  ])('is read cell by cell with %s', async (_title, data) => {
    const { bytes, warning } = await client.convertToBytes({ name: 'a.csv', data }, 'json-pandoc');
    expect(cellsOf(bytes.toString('utf8'))).toEqual([
      [
        ['Stadt', 'Größe', 'Anteil'],
        ['Köln; links', '1,5', '50 %'],
        ['„Zitat“ "x"', '2,5', ''],
      ],
    ]);
    expect(warning).toEqual({});
  });

  it('ends with FAILED_CONVERT when its columns can be read in two ways', async () => {
    const { error } = await client.convert({ name: 'a.csv', data: 'Doe, John;1\nRoe, Jane;2\n' }, 'pdf');
    expect(error.code).toBe('FAILED_CONVERT');
    expect(error.message).toMatch(/^The columns may be separated by commas or semicolons\./);
  });

  it('says in its result that rows have more values than columns', async () => {
    const { warning } = await client.convert({ name: 'a.csv', data: 'a,b\n1,2,3\n' }, 'docx');
    expect(warning['ROWS_TOO_LONG']).toMatch(/^1 row\(s\) have more values than the first row/);
  });
});
