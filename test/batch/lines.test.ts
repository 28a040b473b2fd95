import { readLines } from '../../src/batch/lines';
import { collect, inPieces } from './folder';

describe('readLines', () => {
  it.each([1, 2, 3, 100])('splits at LF and CRLF, whatever the size of the pieces (%d bytes)', async (size) => {
    const lines = await collect(readLines(inPieces('one\r\n\ntwo\rtwo\nlast', size)));
    expect(lines.map(({ number, bytes, terminated }) => [number, bytes.toString(), terminated])).toEqual([
      [1, 'one', true],
      [2, '', true],
      [3, 'two\rtwo', true],
      [4, 'last', false],
    ]);
  });

  it('keeps only the allowed length of a line, and continues with the next line', async () => {
    const lines = await collect(readLines(inPieces(`${'x'.repeat(100)}\nok\n`, 7), { maxLineBytes: 10 }));
    expect(lines.map(({ tooLong, bytes }) => [tooLong, bytes.length <= 17])).toEqual([
      [true, true],
      [false, true],
    ]);
    expect(lines[1]?.bytes.toString()).toBe('ok');
  });
});
