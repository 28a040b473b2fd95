import { lostWords } from '../../src/engines/words';

/** Detects words that are missing on the pages of a PDF, without false alarms. */

describe('missing words of a text', () => {
  it('do not include words that a page splits in a table row, with or without a hyphen', () => {
    expect(lostWords('documented complete', 'Name Docu\r\nmen\r\nother com-\n1', 'Name ted\r\nplete\r\n2')).toEqual([]);
    expect(lostWords('documented complete', 'Name Docu\r\n1', 'other')).toEqual(['DOCUMENTED', 'COMPLETE']);
  });

  it('are found even if narrow cells break other words into the same pieces', () => {
    const rows = ['01', '02', '03', '04', '05'].map((row) =>
      ['11', '12', '13', '14'].map((cell) => ['w', 'd1', row, cell]),
    );
    const wordsOf = (cells: string[][]) => cells.map((pieces) => pieces.join(''));
    const text = rows.flatMap(wordsOf).join(' ');
    const isSeen = (row: number) => (_: unknown, cell: number) => cell !== row % 4;
    const seen = rows.map((cells, row) => cells.filter(isSeen(row)));
    // The page ends in the middle of the third row.
    const linesOf = (of: string[][][], from = 0, to = 4) =>
      of.flatMap((cells) => cells.flatMap((pieces) => pieces.slice(from, to))).join('\r\n');
    const split = seen.slice(2, 3);
    const first = [linesOf(seen.slice(0, 2)), linesOf(split, 0, 2), '1'].join('\r\n');
    const second = [linesOf(split, 2), linesOf(seen.slice(3)), '2'].join('\r\n');
    const lost = rows.map((cells, row) => cells.slice(row % 4, (row % 4) + 1)).flatMap(wordsOf);
    expect(lostWords(text, first, second)).toEqual(lost.map((each) => each.toUpperCase()));
  });

  it('are listed as often as they are missing', () =>
    expect(lostWords('pay the invoice, pay it twice', 'Pay the')).toEqual(['PAY', 'INVOICE', 'IT', 'TWICE']));

  it('are found even if they are part of other words of the text', () => {
    const text = 'In 2024 with 1000 of 2500 items, 12345 pages: 100 250 34';
    expect(lostWords(text, 'In 2024 with 1000 of 2500\r\nitems, 12345 pages:')).toEqual(['100', '250', '34']);
    expect(lostWords('total 10', 'total10')).toEqual([]);
  });

  it('are listed as they are written, although they are normalized for the comparison', () =>
    expect(lostWords('السلام لأن', 'السالم')).toEqual(['لان']));

  it.each([
    ['a hyphen at the end of a line', 'invoices', 'in-\r\nvoices'],
    [
      'a hyphen at the end of a page, before its number and its notes',
      'invoices today',
      'in-\n7\nA note\nvoices today',
    ],
    ['a hyphen in a line from right to left', 'החלטה agreement 50', 'החלטה ment-\nagree 50'],
    ['ligatures', 'efficient office', 'e\ufb03cient o\ufb03ce'],
    ['capitals', 'Straße', 'STRASSE'],
    ['capitals that have a form of their own', 'Straße', 'STRA\u1e9eE'],
    ['Greek in capitals, with their accents and without', 'τῷ λόγῳ τῆς ᾠδῆς Ἄρα ᾼ', 'ΤΩ͂Ι ΛΟΓΩΙ ΤΗ͂Σ ᾨΔΗΣ ΑΡΑ ᾳ'],
    ['capitals of Greek that are accented letters again', 'ΤΩΙ ΛΟΓΩΙ', 'τῷ λόγῳ'],
    ['ligatures of Arabic, whose letters a page changes', 'السلام الاقتصاد لأن', 'السالم االقتصاد ألن'],
    ['words of Arabic that are stretched to fill a line', 'الله السماوات', 'الل1ه السـماوات'],
    ['a word of Arabic into which a page sets a number', 'جميلا ١٢٣٤ لا', 'جمي ١٢٣٤ اًل\nال'],
    ['ligatures of Arabic that have a form of their own', 'السلام لأن', 'الس\ufefbم \ufef7ن'],
    ['accents of their own', 'é naïve', 'e\u0301 nai\u0308ve'],
    [
      'soft hyphens and breaks within a word',
      'data\u00adbase 12345678901234567890',
      'database 1234567890\u200b1234567890',
    ],
    [
      'a number longer than a page is wide',
      '1234567890'.repeat(9),
      `${'1234567890'.repeat(5)}\n7\n${'1234567890'.repeat(4)}`,
    ],
    ['other quotes and dashes', '"a" -- b\'s', '“a” – b’s'],
    ['lines of Chinese that a page ends', '你好世界', '你好\n1\n世界'],
    ['Hebrew from right to left, letter by letter', 'שלום', 'םולש'],
    ['digits and letters beside Hebrew, whose order a page changes', 'invoice17 שלום', '17invoice םולש'],
    [
      'a piece of a long number that a page ends',
      `${'1234567890'.repeat(4)}77`,
      '1234567890123456789012345\nb\n1\n678901234567890' + '77',
    ],
    ['scripts that are set in another order', 'नमस्ते สวัสดี', ''],
    ['heads that are printed on each page', 'No Name 1 a', 'No Name 1 a No Name'],
  ])('do not include those with %s', (_title, text, pages) => expect(lostWords(text, pages)).toEqual([]));
});
