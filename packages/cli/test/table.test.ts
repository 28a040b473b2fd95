import { formatTable } from '../src/output/text';

/** Tables as a person reads them and as `awk` cuts them. */

it('has a column as wide as its widest cell, two blanks between columns and none at the end of a line', () => {
  const rows = [
    ['a', '10', 'done'],
    ['a-long-one', '5', ''],
  ];
  expect(formatTable(['NAME', 'N', 'STATE'], rows)).toBe('NAME        N   STATE\na           10  done\na-long-one  5');
});

it('counts the columns that a terminal shows, not the letters', () =>
  expect(formatTable(['NAME', 'N'], [['报告', '1']])).toBe('NAME  N\n报告  1'));

it('keeps the lines of a cell in its column', () =>
  expect(formatTable(['A', 'B'], [['1', 'one\ntwo']])).toBe('A  B\n1  one\n   two'));

it('is its head where there is nothing in it', () => expect(formatTable(['A', 'B'], [])).toBe('A  B'));
