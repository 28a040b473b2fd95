import { formatTable } from '../src/output/text';

/** Tables for people and for `awk`. */

it('makes a column as wide as its widest cell, with two blanks between columns and none at the end of a line', () => {
  const rows = [
    ['a', '10', 'done'],
    ['a-long-one', '5', ''],
  ];
  expect(formatTable(['NAME', 'N', 'STATE'], rows)).toBe('NAME        N   STATE\na           10  done\na-long-one  5');
});

it('measures terminal columns instead of letters', () =>
  expect(formatTable(['NAME', 'N'], [['报告', '1']])).toBe('NAME  N\n报告  1'));

it('keeps the lines of a cell in its column', () =>
  expect(formatTable(['A', 'B'], [['1', 'one\ntwo']])).toBe('A  B\n1  one\n   two'));

it('prints only the header if there are no rows', () => expect(formatTable(['A', 'B'], [])).toBe('A  B'));
