import { readManifest } from '../../../src/batch/manifest/read-manifest';
import { Findings } from '../../../src/batch/findings';
import { collect, inPieces } from '../folder';

async function read(
  content: string | Buffer,
  { name = 'm.csv', to, pieces }: { name?: string; to?: string; pieces?: number } = {},
) {
  const findings = new Findings();
  const warnings = new Findings();
  const reading = { name, defaultOutput: to, findings, warnings };
  const all = await collect(readManifest(inPieces(content, pieces), reading));
  const told = ({ listed }: Findings) => listed.map(({ message }) => message);
  return {
    rows: all.flatMap((row) => ('problem' in row ? [] : [row])),
    bad: all.flatMap((row) => ('problem' in row ? [row.problem] : [])),
    messages: told(findings),
    warned: told(warnings),
  };
}

describe('a CSV manifest', () => {
  it('may have quotes, a byte order mark, CRLF, empty lines and columns in any order, in pieces of any size', async () => {
    const content =
      '\ufeffOutput, source,destination\r\npdf,"a ""x"", b.md",\r\n\r\npdf,"two\nlines.md",out/x.pdf\r\nhtml,c.md';
    for (const pieces of [1, 2, 3, 7, 1000]) {
      expect(await read(content, { pieces })).toEqual({
        rows: [
          { line: 2, term: 'column', source: 'a "x", b.md', output: 'pdf' },
          { line: 4, term: 'column', source: 'two\nlines.md', output: 'pdf', destination: 'out/x.pdf' },
          { line: 6, term: 'column', source: 'c.md', output: 'html' },
        ],
        bad: [],
        messages: [],
        warned: [],
      });
    }
  });

  it('may have a column of parameters, separated by spaces', async () => {
    const { rows, bad } = await read(
      'source,output,parameters\na,pdf,dpi=300 page_size=a5\nb,pdf,\nc,pdf,a5\nd,pdf,output=x\n',
    );
    expect(rows.map(({ parameters }) => parameters)).toEqual([{ dpi: 300, page_size: 'a5' }, undefined]);
    expect(bad).toEqual([
      'm.csv line 4, column parameters: must be written as in dpi=150 page_size=a5.',
      'm.csv line 5, column parameters: must not name output, which a job has beside them.',
    ]);
  });

  it('accepts every format name that --to accepts, in any spelling', async () => {
    const { rows } = await read('source,output,input\na,.PDF,md-gfm\nb,x_y-z, TXT \n');
    expect(rows.map(({ output, input }) => [output, input])).toEqual([
      ['pdf', 'md-gfm'],
      ['x_y-z', 'txt'],
    ]);
  });

  const rows = [
    { line: 2, term: 'column', source: 'März; April, Mai.md', output: 'pdf' },
    { line: 3, term: 'column', source: '„x“ – 5 €.md', output: 'html' },
  ];
  const commas = 'source,output\r\n"März; April, Mai.md",pdf\r\n„x“ – 5 €.md,html\r\n';
  const semicolons = 'Source;"output"\r\n"März; April, Mai.md";pdf\r\n„x“ – 5 €.md;html\r\n';
  const tabs = 'source\toutput\r\nMärz; April, Mai.md\tpdf\r\n„x“ – 5 €.md\thtml\r\n';

  it.each([
    ['commas', commas, 0],
    ['semicolons', semicolons, 0],
    ['tabs', tabs, 0],
    ['a line that names the separator', `sep=;\r\n${semicolons}`, 1],
  ])('may be separated like a spreadsheet export: %s', async (_title, text, linesBefore) => {
    const expected = rows.map((row) => ({ ...row, line: row.line + linesBefore }));
    for (const pieces of [1, 7, 1000]) {
      expect(await read(text, { pieces })).toEqual({ rows: expected, bad: [], messages: [], warned: [] });
    }
  });

  it('in UTF-16, as some programs save Unicode text, is rejected with advice', async () => {
    for (const content of [Buffer.from(`\ufeff${tabs}`, 'utf16le'), Buffer.from(`\ufeff${tabs}`, 'utf16le').swap16()]) {
      expect((await read(content)).messages).toEqual(['m.csv is UTF-16. Save it in UTF-8.']);
    }
  });

  it('may be in Windows-1252, with one warning that names its first such line', async () => {
    const letters = 'source;output\na.md;pdf\nM\xe4rz \x80.md;pdf\n\xfc.md;pdf\n';
    const { rows: found, bad, warned } = await read(Buffer.from(letters, 'latin1'));
    expect(found.map(({ source }) => source)).toEqual(['a.md', 'März €.md', 'ü.md']);
    expect([bad, warned]).toEqual([
      [],
      ['m.csv line 3 is not UTF-8; it is read as Windows-1252. Save the file in UTF-8 if names are wrong.'],
    ]);
  });

  it('needs no output column if one format is given for all rows; values of its own override it', async () => {
    const { rows } = await read('source\na.md\n', { to: 'pdf' });
    expect(rows).toMatchObject([{ source: 'a.md', output: 'pdf' }]);
    const { rows: mixed } = await read('source,output\na.md,\nb.md,html\n', { to: 'pdf' });
    expect(mixed).toMatchObject([{ output: 'pdf' }, { output: 'html' }]);
  });

  it.each([
    ['m.csv is empty. Its first line names the columns: source,output', ''],
    ['m.csv has no rows below its header. Add one line for each file.', 'source,output\n'],
    ['m.csv line 1: column output is missing. Add it, or name one format for all rows with --to.', 'source\na.md\n'],
    ['m.csv line 1: there is no column "sorce". Did you mean source?', 'sorce,output\n'],
    ['m.csv line 1: column source appears twice. Remove one.', 'source,output,source\n'],
    [
      'm.csv line 1: there is no column "source|output". Columns are source, output, input, parameters, destination.',
      'source|output\na.md|pdf\n',
    ],
    ['m.csv line 2: there is no column "sorce". Did you mean source?', 'sep=;\nsorce;output\n'],
    ['m.csv is a spreadsheet. Save it as CSV in UTF-8.', 'PK\u0003\u0004rest'],
    [
      'm.csv line 3: a quote that opens there, or soon after, is never closed. Close it, and write a quote inside quotes twice. What follows was not checked.',
      `source,output\na,pdf\n"b,pdf\n${'c,pdf\n'.repeat(100)}`,
    ],
    [
      'm.csv line 3: the row is longer than 64 KiB. Shorten it, or close a quote that opens there, or soon after. What follows was not checked.',
      `source,output\na,pdf\n${'b'.repeat(70_000)},pdf\n`,
    ],
    [
      'm.csv line 2: something follows a closing quote. Write a quote inside quotes twice. What follows was not checked.',
      'source,output\n"a"b,pdf\n',
    ],
    [
      'm.csv line 2: there is a quote inside a value. Put the whole value in quotes, and write the quote twice. What follows was not checked.',
      'source,output\na"b,pdf\n',
    ],
  ])('is rejected, with the line and advice: %s', async (message, content) => {
    expect((await read(content)).messages).toEqual([message]);
  });

  it.each([
    ['m.csv line 2, column source: there is a NUL byte in it. Remove it.', 'source,output\na\0b,pdf\n'],
    ['m.csv line 3, column source: it is empty. Name the file to convert.', 'source,output\na,pdf\n,pdf\n'],
    [
      'm.csv line 2, column output: it is empty. Name the format to convert to, for example pdf.',
      'source,output\na,\n',
    ],
    ['m.csv line 2, column output: "p/f" is not the name of a format. See: fileconv formats', 'source,output\na,p/f\n'],
    ['m.csv line 2: there are 3 values for 2 columns. Put a value with a comma in quotes.', 'source,output\na,b,pdf\n'],
    [
      'm.csv line 2: there are 3 values for 2 columns. Put a value with a semicolon in quotes.',
      'source;output\na;b;pdf\n',
    ],
  ])('has an invalid row, with the line and advice: %s', async (message, content) => {
    expect(await read(content)).toMatchObject({ bad: [message], messages: [] });
  });

  it('with a row that is neither UTF-8 nor Windows-1252 is read except for that row, with or without a byte order mark', async () => {
    for (const mark of ['', '\ufeff']) {
      const content = Buffer.concat([
        Buffer.from(`${mark}source,output\na,pdf\n`),
        Buffer.from('M\x81rz.md,pdf\n', 'latin1'),
      ]);
      const { rows, bad } = await read(content);
      expect(bad).toEqual(['m.csv line 3, column source: the bytes are not UTF-8. Save the file as CSV in UTF-8.']);
      expect(rows).toHaveLength(1);
    }
  });

  it('with an unclosed quote is not read into memory completely', async () => {
    let produced = 0;
    async function* endless() {
      yield Buffer.from('source,output\n"a,pdf\n');
      for (; produced < 1000; produced += 1) yield await Promise.resolve(Buffer.alloc(16 * 1024, 'b,pdf\n'));
    }
    const [findings, warnings] = [new Findings(), new Findings()];
    await collect(readManifest(endless(), { name: 'm.csv', defaultOutput: undefined, findings, warnings }));
    expect(findings.count).toBe(1);
    expect(produced).toBeLessThan(50);
  });

  it('reports all errors of a row in one text', async () =>
    expect((await read('source,output\n,?\n,pdf\n')).bad).toEqual([
      'm.csv line 2, column source: it is empty. Name the file to convert. m.csv line 2, column output: "?" is not the name of a format. See: fileconv formats',
      'm.csv line 3, column source: it is empty. Name the file to convert.',
    ]));
});

describe('a JSON Lines manifest', () => {
  const jsonl = (...lines: string[]) => read(lines.join('\n'), { name: 'm.jsonl' });

  it('has one object per line; empty lines, null and CRLF are ignored', async () => {
    const content =
      '\ufeff{"source":"a.md","output":"pdf"}\r\n\r\n{"source":"b.md","output":"pdf","input":null,"destination":"x/"}';
    for (const pieces of [1, 5, 1000]) {
      expect((await read(content, { name: 'm.jsonl', pieces })).rows).toEqual([
        { line: 1, term: 'key', source: 'a.md', output: 'pdf' },
        { line: 3, term: 'key', source: 'b.md', output: 'pdf', destination: 'x/' },
      ]);
    }
  });

  it('without a name is distinguished from CSV by its first character', async () => {
    expect((await read('\n {"source":"a","output":"pdf"}', { name: 'standard input' })).rows).toHaveLength(1);
    expect((await read('source,output\na,pdf', { name: 'standard input' })).rows).toHaveLength(1);
  });

  it('reports every error with line and key', async () => {
    const { rows, bad, messages } = await jsonl(
      '{"source":"a","output":"pdf"}',
      '{"source":"a"',
      '["a"]',
      '{"sourse":"a","output":"pdf","colour":"red"}',
      '{"source":1,"output":"pdf"}',
      '{"source":"a"}',
      `{"source":"${'x'.repeat(70_000)}","output":"pdf"}`,
      '{"source":"\\u0000","output":"pdf"}',
    );
    expect([rows.length, messages]).toEqual([1, []]);
    expect(bad).toEqual([
      expect.stringMatching(/^m\.jsonl line 2 is not JSON: .*\. Write one object a line\.$/),
      'm.jsonl line 3 is not an object. Write one object a line, for example {"source":"a.md","output":"pdf"}',
      'm.jsonl line 4: there is no key "sourse". Did you mean source? m.jsonl line 4: there is no key "colour". Keys are source, output, input, parameters, destination.',
      'm.jsonl line 5, key source: it is not a text. Put it in quotes.',
      'm.jsonl line 6, key output: it is empty. Name the format to convert to, for example pdf.',
      'm.jsonl line 7 is longer than 65536 bytes. Write one row a line.',
      'm.jsonl line 8, key source: there is a NUL byte in it. Remove it.',
    ]);
  });

  it('is rejected if it is an array, empty, or not UTF-8', async () => {
    expect((await jsonl('[{"source":"a"}]')).messages).toEqual([
      'm.jsonl is one JSON array. Write one object a line instead.',
    ]);
    expect((await jsonl('', '')).messages).toEqual([
      'm.jsonl is empty. Each line is a row: {"source":"a.md","output":"pdf"}',
    ]);
    const latin = await read(Buffer.from('{"source":"\xe4","output":"pdf"}', 'latin1'), { name: 'm.jsonl' });
    expect(latin.bad).toEqual(['m.jsonl line 1: the bytes are not UTF-8. Save the file in UTF-8.']);
  });
});
