import { serviceOfAllTests } from '../support';

/** Warnings about the encoding reach the result. input-text.test.ts tests the detection itself. */

const { client } = serviceOfAllTests({ conversionConcurrency: 1 });

it('puts a warning about the encoding into the result of a PDF, also in a later task/response', async () => {
  const { output, warning } = await client.convert({ name: 'a.md', data: Buffer.from('Größe', 'latin1') }, 'pdf');
  expect(warning['ENCODING_GUESSED']).toMatch(/was read as Windows-1252\. If letters are wrong, save it in UTF-8/);
  expect((await client.waitForTask(output.connector ?? '')).result.warning).toEqual(warning);
});

it.each(['md', 'txt', 'csv', 'html', 'ipynb'])(
  'refuses a file that is not text with FAILED_CONVERT as %s',
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
  'converts a text that ends with NUL bytes, as after a crash, with a warning as %s',
  async (type) => {
    const data = Buffer.concat([Buffer.from('half a file'), Buffer.alloc(100)]);
    const { warning } = await client.convert({ name: `a.${type}`, data }, 'html');
    expect(warning['TEXT_DAMAGED']).toMatch(/ends with 100 NUL bytes/);
  },
);

it('reads UTF-16 character by character, with non-breaking spaces and CR line ends', async () => {
  const data = Buffer.from('\ufeffGröße 10\u00a0000\u202f€\rtwo\r\rthree\r', 'utf16le');
  const { bytes, warning } = await client.convertToBytes({ name: 'a.md', data }, 'html');
  expect(bytes.toString('utf8')).toMatch(/<p>Größe 10( |&nbsp;|\u00a0)000(\u202f|&#8239;)€\s+two<\/p>\s*<p>three<\/p>/);
  expect(warning).toEqual({});
});

it('reads a CSV file of a spreadsheet program cell by cell, and warns of rows longer than the first', async () => {
  const rows = 'Stadt\tGröße\r\n"Köln; links"\t1,5\r\n';
  const data = Buffer.from(`\ufeff${rows}`, 'utf16le');
  const { bytes } = await client.convertToBytes({ name: 'a.csv', data }, 'html');
  expect(bytes.toString('utf8')).toMatch(/<th>Größe<\/th>[^]*<td>Köln; links<\/td>\s*<td>1,5<\/td>/);
  const { warning } = await client.convertToBytes({ name: 'a.csv', data: 'a,b\n1,2,3\n' }, 'docx');
  expect(warning['ROWS_TOO_LONG']).toMatch(/^1 row\(s\) have more values than the first row/);
});
