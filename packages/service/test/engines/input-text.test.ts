import { readInputText } from '../../src/engines/input';

/** Decodes bytes to text. `text-files.test.ts` tests the conversions. */

const sentence = 'Größe: 5 € – „naïve“ Œuvre, ça va\nzweite Zeile';
const guessed = ['ENCODING_GUESSED'];

function read(bytes: Buffer | string, inputFormat = 'txt') {
  const { text, warnings } = readInputText(Buffer.from(bytes), inputFormat);
  return { text, warnings: Object.keys(warnings) };
}

const utf16be = (text: string): Buffer => Buffer.from(text, 'utf16le').swap16();

/** Characters of the sentence whose code in Windows-1252 differs from Unicode. */
const windows1252: Readonly<Record<string, number>> = { '€': 0x80, '–': 0x96, '„': 0x84, '“': 0x93, Œ: 0x8c };

const inWindows1252 = (text: string): Buffer =>
  Buffer.from(Array.from(text, (letter) => windows1252[letter] ?? letter.charCodeAt(0)));

describe('the encoding of a text', () => {
  it.each([
    ['UTF-8', Buffer.from(sentence), []],
    ['UTF-8 with a byte order mark', Buffer.from(`\ufeff${sentence}`), []],
    ['UTF-16 LE with a byte order mark', Buffer.from(`\ufeff${sentence}`, 'utf16le'), []],
    ['UTF-16 BE with a byte order mark', utf16be(`\ufeff${sentence}`), []],
    ['UTF-16 LE without one', Buffer.from(sentence, 'utf16le'), []],
    ['UTF-16 BE without one', utf16be(sentence), []],
    ['Windows-1252, with a warning', inWindows1252(sentence), guessed],
  ])('is detected: %s', (_title, bytes, warnings) => expect(read(bytes)).toEqual({ text: sentence, warnings }));

  it('is detected in a text of a few letters', () => {
    expect(read(Buffer.from('né', 'latin1'))).toEqual({ text: 'né', warnings: guessed });
    expect(read(Buffer.from('né', 'utf16le'))).toEqual({ text: 'né', warnings: [] });
    expect(read('né')).toEqual({ text: 'né', warnings: [] });
    expect(read('')).toEqual({ text: '', warnings: [] });
  });

  it('is UTF-16 even without Latin letters', () => {
    const chinese = '中文 文本\n第二行。\n';
    expect(read(Buffer.from(chinese, 'utf16le'))).toEqual({ text: chinese, warnings: [] });
    expect(read(utf16be(chinese))).toEqual({ text: chinese, warnings: [] });
  });

  it.each([
    ['html', '<html><head><meta charset="iso-8859-2"></head>Ł</html>', 0xa3],
    ['html', '<meta http-equiv="Content-Type" content="text/html; charset=windows-1251">Ł', 0x57, 'W'],
    ['html', `<html><!-- ${'-'.repeat(9_000)} --><meta charset="windows-1251"></head>Ł</html>`, 0xd7, 'Ч'],
    ['xml-docbook', '<?xml version="1.0" encoding="ISO-8859-2"?><para>Ł</para>', 0xa3],
    ['rtf', '{\\rtf1\\ansi\\ansicpg1250 Ł}', 0xa3],
  ])('is the one declared in the file (%s)', (inputFormat, source, byte, letter = 'Ł') => {
    const bytes = Buffer.from(Array.from(source, (each) => (each === 'Ł' ? byte : each.charCodeAt(0))));
    expect(read(bytes, inputFormat)).toEqual({ text: source.replace('Ł', letter), warnings: [] });
  });

  it('is UTF-8 if the bytes are, whatever the file declares', () => {
    const page = '<meta charset="iso-8859-1"><p>Köln</p>';
    expect(read(page, 'html')).toEqual({ text: page, warnings: [] });
    const wide = '<meta http-equiv="Content-Type" content="text/html; charset=unicode"><p>Plain</p>';
    expect(read(wide, 'html')).toEqual({ text: wide, warnings: [] });
  });

  it('ignores declarations in formats that have none', () => {
    const text = 'The tag <meta charset="shift_jis"> and K\xf6ln';
    expect(read(Buffer.from(text, 'latin1'), 'md')).toEqual({ text, warnings: guessed });
  });

  it('stays UTF-8 if a few bytes are damaged, with a warning', () => {
    const cut = Buffer.concat([Buffer.from(sentence), Buffer.from([0xe2, 0x82])]);
    expect(read(cut)).toEqual({ text: `${sentence}\ufffd`, warnings: ['TEXT_DAMAGED'] });
    const odd = Buffer.concat([Buffer.from(`\ufeff${sentence}`, 'utf16le'), Buffer.from([0x20])]);
    expect(read(odd)).toEqual({ text: `${sentence}\ufffd`, warnings: ['TEXT_DAMAGED'] });
  });
});

describe('the lines of a text', () => {
  it('end with LF, CR LF or CR', () => {
    expect(read('a\r\nb\nc').text).toBe('a\nb\nc');
    expect(read('a\rb\rc').text).toBe('a\nb\nc');
  });

  it('may be followed by NUL bytes that some programs pad a file with', () => {
    expect(read('{\\rtf1 x}\r\n\0', 'rtf').text).toBe('{\\rtf1 x}\n');
    expect(read('end\x1a').text).toBe('end');
    expect(read('end\x1a\0').warnings).toEqual([]);
  });

  it('may be followed by NUL bytes after a crash, which are counted in a warning', () => {
    const { text, warnings } = readInputText(Buffer.concat([Buffer.from('half a line'), Buffer.alloc(4_096)]), 'md');
    expect(text).toBe('half a line');
    expect(warnings['TEXT_DAMAGED']).toMatch(/^The text ends with 4096 NUL bytes, as a crash /);
    const within = Buffer.concat([Buffer.from('half a letter: Gr\xc3', 'latin1'), Buffer.alloc(2)]);
    expect(read(within).warnings).toContain('TEXT_DAMAGED');
  });
});

describe('binary input', () => {
  /** Deterministic noise with an even distribution. */
  function noise(count: number): Buffer {
    let state = 1;
    return Buffer.from(Array.from({ length: count }, () => (state = (state * 48271) % 0x7fffffff) >> 8));
  }

  it.each([
    ['noise', noise(3_000)],
    ['a little noise', noise(40)],
    ['noise behind a byte order mark', Buffer.concat([Buffer.from('\ufeff', 'utf16le'), noise(3_000)])],
    ['the beginning of a PNG', Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1')],
    ['a zip archive', Buffer.from('PK\x03\x04\x14\0\0\0\x08\0', 'latin1')],
    ['UTF-32', Buffer.from([0xff, 0xfe, 0, 0, 0x41, 0, 0, 0, 0x42, 0, 0, 0])],
    ['NUL bytes within ASCII', Buffer.from('some text\0and more of it')],
    ['control characters', Buffer.from(Array.from({ length: 200 }, (_, index) => index % 32 || 65))],
  ])('is refused: %s', (_title, bytes) => {
    expect(() => read(bytes, 'md')).toThrow(
      'The md file is not text in UTF-8, UTF-16 or Windows-1252. Save it in UTF-8; if it is no text, correct its extension.',
    );
  });

  it('includes a file of NUL bytes only, which would become an empty document', () => {
    for (const bytes of [Buffer.alloc(1), Buffer.alloc(5_000), Buffer.from('\0\0\x1a')]) {
      expect(() => read(bytes, 'md')).toThrow('The md file holds nothing but NUL bytes');
    }
    expect(read('\x1a').text).toBe('');
  });

  it('does not include text with a form feed or terminal colours', () => {
    const text = 'one\fpage\x1b[31mred\x1b[0m\ttab';
    expect(read(text)).toEqual({ text, warnings: [] });
  });
});
