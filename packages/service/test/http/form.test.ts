import { Readable } from 'node:stream';
import { fieldsOf, readField } from '../../src/http/form';
import { readParts } from '../../src/http/multipart';

const type = 'multipart/form-data; boundary=b';
const limits = { maxFormFields: 20 };

/** Parses the form in pieces of `size` bytes, which may split delimiters, and checks that parsing it as a whole gives the same fields. */
async function read(text: string | Buffer, { contentType = type, size = 1 << 20 } = {}) {
  const bytes = Buffer.from(text);
  const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
    bytes.subarray(at * size, (at + 1) * size),
  );
  const fields = [];
  for await (const part of readParts(Readable.from(pieces), contentType)) {
    fields.push({ field: await readField(part, 1_000), fileName: part.fileName });
  }
  expect(fieldsOf(bytes, contentType, limits)).toEqual(fields.map(({ field }) => field));
  return fields.map(({ field, fileName }) => ({ ...field, ...(fileName !== undefined && { fileName }) }));
}

const data = (value: string): string => `--b\r\nContent-Disposition: form-data; name="data"\r\n\r\n${value}\r\n`;

const dataField = (value: string) => ({ name: 'data', isFile: false, value });

describe('a multipart form', () => {
  it.each([1, 2, 7, 1_000])('gives every field, ignoring text around the form, in pieces of %d bytes', async (size) => {
    const file = '--b\r\ncontent-disposition: form-data; name="file"; filename="x"\r\n\r\nbytes\r\n';
    const nameless = '--b\r\ncontent-disposition: form-data\r\n\r\nx\r\n';
    const empty = '--b\r\ncontent-disposition: form-data; name=e\r\n\r\n';
    const form = `preamble\r\n${file}${nameless}${empty}${data('{"é": 1}')}--b--\r\nepilogue`;
    expect(await read(form, { size })).toEqual([
      { name: 'file', isFile: true, value: '', fileName: 'x' },
      { name: '', isFile: false, value: 'x' },
      { name: 'e', isFile: false, value: '' },
      dataField('{"é": 1}'),
    ]);
  });

  it('accepts header names in any case, bare names, folded headers and a quoted boundary', async () => {
    const part =
      '--b\r\nCONTENT-TYPE: application/json;\r\n charset="UTF-8"\r\nCONTENT-DISPOSITION: form-data;\r\n\tname=data\r\n\r\n{}\r\n--b--';
    const contentType = 'Multipart/Form-Data; charset="utf-8"; boundary="b"';
    expect(await read(part, { contentType })).toEqual([dataField('{}')]);
  });

  it('keeps line breaks and dashes of a value', async () =>
    expect(await read(`${data('a\r\n--c\r\n\r\nb')}--b--`)).toEqual([dataField('a\r\n--c\r\n\r\nb')]));

  it('has no fields without parts', async () => expect(await read('--b--\r\n')).toEqual([]));

  it('returns both values of a repeated field', async () =>
    expect(await read(`${data('1')}${data('2')}--b--`)).toEqual([dataField('1'), dataField('2')]));

  it('decodes a text in the declared character set', async () => {
    const head =
      '--b\r\nContent-Disposition: form-data; name="data"\r\nContent-Type: text/plain; charset=ISO-8859-1\r\n\r\n';
    const form = Buffer.concat([Buffer.from(head), Buffer.from('Größe', 'latin1'), Buffer.from('\r\n--b--')]);
    expect(await read(form)).toEqual([dataField('Größe')]);
  });

  it.each([
    ['is cut off', data('1'), /ends before its last boundary/],
    ['is cut off in its headers', '--b\r\nContent-Disp', /ends before its last boundary/],
    ['is empty', '', /does not hold the boundary/],
    ['has another boundary', '--c\r\n\r\n--c--', /does not hold the boundary/],
    ['has a part whose headers do not end', `--b\r\nname: data\r\n${data('1')}--b--`, /headers of a part do not end/],
    ['has a part with endless headers', `--b\r\nx: ${'y'.repeat(20_000)}`, /headers of a part do not end/],
    [
      'has a part in base64',
      '--b\r\nContent-Disposition: form-data; name="data"\r\nContent-Transfer-Encoding: base64\r\n\r\ne30=\r\n--b--',
      /transfer encoding base64; send its bytes as they are/,
    ],
  ])('is refused if it %s', async (_title, text, reason) => {
    await expect(read(text)).rejects.toThrow(reason);
    expect(() => fieldsOf(Buffer.from(text), type, limits)).toThrow(reason);
  });

  it('is not parsed past the first field over the limit, so that thousands of fields cost nothing', () => {
    const many = Buffer.from(`${data('1').repeat(10_000)}no end`);
    expect(fieldsOf(many, type, limits)).toHaveLength(limits.maxFormFields + 1);
  });

  it('is refused without a boundary', async () =>
    await expect(read('--b--', { contentType: 'multipart/form-data' })).rejects.toThrow(/names no boundary/));
});

it.each([
  ['quoted', 'filename="report.md"', 'report.md'],
  ['bare', 'filename=report.md', 'report.md'],
  ['in UTF-8', 'filename="Größe Пример.md"', 'Größe Пример.md'],
  ['in Latin-1', Buffer.from('filename="Größe.md"', 'latin1'), 'Größe.md'],
  ['as RFC 5987 has it', "filename*=UTF-8''Gr%C3%B6%C3%9Fe.md", 'Größe.md'],
  ['in both forms, the plain one first', `filename="Gr__e.md"; filename*=UTF-8''Gr%C3%B6%C3%9Fe.md`, 'Größe.md'],
  ['in both forms, the plain one last', `filename*=iso-8859-1'de'Gr%F6%DFe.md; filename="Gr__e.md"`, 'Größe.md'],
  ['whose extended form is broken', `filename*=UTF-8''%FF.md; filename="a.md"`, 'a.md'],
  ['of .NET', `filename="=?utf-8?B?R3LDtsOfZS5tZA==?="; filename*=utf-8''Gr%C3%B6%C3%9Fe.md`, 'Größe.md'],
  ['as mail programs write it', 'filename="=?utf-8?Q?Gr=C3=B6=C3=9Fe_?= =?utf-8?B?Mi5tZA==?="', 'Größe 2.md'],
  ['with a Windows path', 'filename="C:\\Users\\x\\My Docs\\report.md"', 'C:\\Users\\x\\My Docs\\report.md'],
  ['with an escaped quote', 'filename="a\\"b.md"; size=5', 'a"b.md'],
  ['with a backslash at its end', 'filename="C:\\x\\"', 'C:\\x\\'],
  ['with backslashes alone, and no quote after them', `filename="${'\\'.repeat(15_000)}`, `"${'\\'.repeat(15_000)}`],
  ['with a semicolon', 'FileName = "a; name=b.md"', 'a; name=b.md'],
])('reads a file name %s', async (_title, parameter, expected) => {
  const form = [
    Buffer.from('--b\r\nContent-Disposition: form-data; name="file"; '),
    Buffer.from(parameter),
    Buffer.from('\r\n\r\nx\r\n--b--'),
  ];
  expect(await read(Buffer.concat(form))).toEqual([{ name: 'file', isFile: true, value: '', fileName: expected }]);
});
