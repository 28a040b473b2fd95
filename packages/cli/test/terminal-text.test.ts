import { columnsOf, fit, fitMiddle } from '../src/output/text';
import { printable } from '../../../src/messages/wording';

describe('printable', () => {
  it('escapes control characters', () =>
    expect(printable('a\u001b[31mb\nc\u0007\u202edxa')).toBe('a\\x1b[31mb\\x0ac\\x07\\u202edxa'));
  it('leaves names of any language as they are', () =>
    expect(printable('Grüße 请求 🙂 #1%.md')).toBe('Grüße 请求 🙂 #1%.md'));
});

it.each([
  ['report.md', 9],
  ['请求', 4],
  ['🙂', 2],
  ['é', 1],
  ['', 0],
])('columnsOf %s takes %i columns', (text, columns) => expect(columnsOf(text)).toBe(columns));

describe('fit', () => {
  it('leaves a text that fits', () => expect(fit('report.md', 9)).toBe('report.md'));
  it('cuts a text at its end and marks the cut', () => expect(fit('report.md', 8)).toBe('report.…'));
  it('never exceeds the width, even with wide characters', () => {
    for (let room = 1; room < 12; room += 1) expect(columnsOf(fit('请求请求.docx', room))).toBeLessThanOrEqual(room);
  });
  it('is empty without room', () => expect(fit('report.md', 0)).toBe(''));
});

describe('fitMiddle', () => {
  it('keeps both ends, which distinguish names', () =>
    expect(fitMiddle('invoice-of-the-year-2026-17.docx', 16)).toBe('invoice-…17.docx'));
  it('never exceeds the width, even with wide characters', () => {
    for (let room = 3; room < 14; room += 1)
      expect(columnsOf(fitMiddle('请求请求请求.docx', room))).toBeLessThanOrEqual(room);
  });
});
