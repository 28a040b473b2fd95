import { serviceOfAllTests } from '../support';

/** What is said of the encoding of a text reaches its result; the rules themselves: input-text.test.ts. */

const { client } = serviceOfAllTests({ conversionConcurrency: 1 });

it('a warning about the encoding is in the result of a PDF, and of a task that is asked for later', async () => {
  const { output, warning } = await client.convert({ name: 'a.md', data: Buffer.from('Größe', 'latin1') }, 'pdf');
  expect(warning['ENCODING_GUESSED']).toMatch(/was read as Windows-1252\. If letters are wrong, save it in UTF-8/);
  expect((await client.waitForTask(output.connector ?? '')).result.warning).toEqual(warning);
});

it.each(['md', 'txt', 'csv', 'html', 'ipynb'])(
  'a file that is no text ends with FAILED_CONVERT as %s',
  async (type) => {
    let state = 1;
    const noise = Array.from({ length: 3_000 }, () => (state = (state * 48271) % 0x7fffffff) >> 12);
    expect((await client.convert({ name: `a.${type}`, data: Buffer.from(noise) }, 'html')).error).toEqual({
      code: 'FAILED_CONVERT',
      message: `The ${type} file is not text in UTF-8, UTF-16 or Windows-1252. Save it in UTF-8; if it is no text, correct its extension.`,
    });
  },
);

it.each(['md', 'txt', 'csv', 'html'])(
  'a text that ends with NUL bytes, as a crash leaves it, is converted with a warning as %s',
  async (type) => {
    const data = Buffer.concat([Buffer.from('half a file'), Buffer.alloc(100)]);
    const { warning } = await client.convert({ name: `a.${type}`, data }, 'html');
    expect(warning['TEXT_DAMAGED']).toMatch(/ends with 100 NUL bytes/);
  },
);

it('a text in UTF-16 is read letter by letter, with spaces that do not break and lines that end with CR alone', async () => {
  const data = Buffer.from('\ufeffGröße 10\u00a0000\u202f€\rtwo\r\rthree\r', 'utf16le');
  const { bytes, warning } = await client.convertToBytes({ name: 'a.md', data }, 'html');
  expect(bytes.toString('utf8')).toMatch(/<p>Größe 10( |&nbsp;|\u00a0)000(\u202f|&#8239;)€\s+two<\/p>\s*<p>three<\/p>/);
  expect(warning).toEqual({});
});

it('a CSV file of a spreadsheet program is read cell by cell, and says that rows have more values than columns', async () => {
  const rows = 'Stadt\tGröße\r\n"Köln; links"\t1,5\r\n';
  const data = Buffer.from(`\ufeff${rows}`, 'utf16le');
  const { bytes } = await client.convertToBytes({ name: 'a.csv', data }, 'html');
  expect(bytes.toString('utf8')).toMatch(/<th>Größe<\/th>[^]*<td>Köln; links<\/td>\s*<td>1,5<\/td>/);
  const { warning } = await client.convertToBytes({ name: 'a.csv', data: 'a,b\n1,2,3\n' }, 'docx');
  expect(warning['ROWS_TOO_LONG']).toMatch(/^1 row\(s\) have more values than the first row/);
});
