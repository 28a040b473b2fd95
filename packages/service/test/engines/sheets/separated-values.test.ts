import {
  readSeparatedValues,
  separatedValuesDocument,
  writeSeparatedValues,
} from '../../../src/engines/sheets/separated-values';
import { cellsOf } from '../tables';

/** Parsing of CSV and TSV without the engine. */

function read(source: string, reader = 'csv') {
  const { json, warnings } = separatedValuesDocument(source, { reader, writer: 'docx' });
  return { cells: cellsOf(json)[0] ?? [], warnings: Object.keys(warnings) };
}

describe('the separator of a CSV file', () => {
  const twoRows = [
    ['name', 'size'],
    ['Köln; Bonn, Trier', '1,5'],
  ];

  it.each([
    ['a comma', 'name,size\n"Köln; Bonn, Trier","1,5"\n'],
    ['a semicolon', 'name;size\n"Köln; Bonn, Trier";1,5\n'],
    ['a tab', 'name\tsize\nKöln; Bonn, Trier\t1,5\n'],
    ['what a first line names', 'sep=;\nname;size\n"Köln; Bonn, Trier";1,5\n'],
  ])('is detected: %s', (_title, source) => expect(read(source)).toEqual({ cells: twoRows, warnings: [] }));

  it.each([
    ['numbers with decimal commas, and no header', '1,5;2,5;3\n4,5;5,5;6\n', ['1,5', '2,5', '3']],
    ['prose in a column of a semicolon file', 'name;note\nx;one, two, three\ny;four\n', ['name', 'note']],
    ['lists in a column of a comma file', 'name,tags\nx,a;b;c\ny,d\n', ['name', 'tags']],
    ['names with a comma in a file with tabs', 'a, b\tc\nd, e\tf\n', ['a, b', 'c']],
    ['a value in quotes with the other separator in each row', '1,"x;y"\n2,"z;"\n', ['1', 'x;y']],
    ['semicolons below a title', 'Report\n\na;b;c\n1;2;3\n4;5;6\n', ['Report', '', '']],
    ['vertical bars in every row', 'name|size\nA, B|"x|y"\n', ['name', 'size']],
    ['a vertical bar within values', 'a|b,c\nd|e,f\n', ['a|b', 'c']],
    ['a vertical bar in one column', 'name\na|b\n', ['name']],
    ['rows that end early', 'a;b;c\n1,5;2\nx\n', ['a', 'b', 'c']],
    ['one column', 'name\nKöln\n', ['name']],
    ['prose in one column', 'remark\nHello, world\n', ['remark', '']],
  ])('is detected correctly for %s', (_title, source, first) => expect(read(source).cells[0]).toEqual(first));

  it.each([
    ['both stand in each row', 'Doe, John;1\nRoe, Jane;2\n'],
    ['a title has one and the rows the other', 'Report, January\na;b\n1;2\n'],
    ['a sentence below a title', 'remark\nHello; world\n'],
  ])('must be given if %s', (_title, source) => {
    expect(() => read(source)).toThrow(
      /^The columns may be separated by .*semicolons\. Say which in a line before all/,
    );
    expect(read(`sep=;\n${source}`).cells.length).toBeGreaterThan(0);
  });
});

describe('the values of a CSV file', () => {
  it('may contain separators, line breaks and quotes inside quotes', () => {
    expect(read('a;b\n"one; ""two"" three";"first\nsecond"\n').cells[1]).toEqual(['one; "two" three', 'first\nsecond']);
  });

  it('may contain quotes, with blanks around quoted values and empty lines between rows', () =>
    expect(read('a, "b"\n \n\n5" disk, "x, y" \n').cells).toEqual([
      ['a', 'b'],
      ['5" disk', 'x, y'],
    ]));

  it('keep leading and trailing blanks', () => {
    const source = 'a, b\n  1 ,"c, ""d"" , "\n ,\n';
    const rows = [
      ['a', ' b'],
      ['  1 ', 'c, "d" , '],
      [' ', ''],
    ];
    expect(readSeparatedValues(source, 'csv').rows).toEqual(rows);
    expect(readSeparatedValues(writeSeparatedValues(rows, 'csv'), 'csv').rows).toEqual(rows);
  });

  it('are complete if a row is longer than the first, with a warning', () =>
    expect(read('a,b\n1,2,3\n4\n')).toEqual({
      cells: [
        ['a', 'b', ''],
        ['1', '2', '3'],
        ['4', '', ''],
      ],
      warnings: ['ROWS_TOO_LONG'],
    }));

  it('are refused if a quote is never closed, with its line number', () =>
    expect(() => read('sep=,\na,b\n1,2\n3,"4\n5,6\n')).toThrow(
      'A quote that opens in line 4, or soon after, is never closed. Close it, and write a quote within quotes twice.',
    ));

  it('are refused if there are too many', () =>
    expect(() => read(`${'a\n'.repeat(2_000)}${','.repeat(2_000)}`)).toThrow(
      /has 4004001 cells, .* at most 50000, or 500000 to html/,
    ));
});

describe('the values of a TSV file', () => {
  it('are separated by tabs only', () =>
    expect(read('a,b\tc;d\n1,2\t3;4\n', 'tsv').cells).toEqual([
      ['a,b', 'c;d'],
      ['1,2', '3;4'],
    ]));

  it('may be quoted, and may start with a quote', () => {
    expect(read('a\tb\n"x\ty"\tz\n', 'tsv').cells[1]).toEqual(['x y', 'z']);
    expect(read('a\tb\n"x\tz\n', 'tsv').cells[1]).toEqual(['"x', 'z']);
  });
});
