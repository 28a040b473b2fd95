import { plainTextDocument } from '../../../src/engines/documents/plain-text';

/** The meaning of blanks and form feeds in plain text. */

interface Block {
  t: string;
  c: unknown;
}

const blocksOf = (text: string, writer = 'docx'): Block[] =>
  (JSON.parse(plainTextDocument(text, writer)) as { blocks: Block[] }).blocks;

const columns =
  'NAME            DEPT        HOURS\nSMITH J         SALES          40\n    TOTAL                    47.5\n';

describe('text in columns', () => {
  it('keeps every blank, in a monospaced font', () =>
    expect(blocksOf(columns)).toEqual([{ t: 'CodeBlock', c: [['', ['fixed-pitch'], []], columns.trimEnd()] }]));

  it('has tab stops every eight characters', () =>
    expect(blocksOf('a\tb\n12345678\tc')).toMatchObject([{ c: [{}, 'a       b\n12345678        c'] }]));

  it.each(['One sentence.  And another.', '    An indented line\nand one that is not', 'words and words'])(
    'does not include: %s',
    (text) => expect(blocksOf(text).map(({ t }) => t)).toEqual(['Para']),
  );
});

it('keeps indentation and multiple blanks of ordinary text', () =>
  expect(blocksOf('    In.  Two')).toEqual([
    { t: 'Para', c: [{ t: 'Str', c: '\u00a0\u00a0\u00a0\u00a0In.\u00a0' }, { t: 'Space' }, { t: 'Str', c: 'Two' }] },
  ]));

describe('a form feed', () => {
  it.each(['docx', 'odt', 'rtf', 'latex', 'html5', 'json'])('starts a page: %s', (writer) => {
    expect(blocksOf('one\f\ntwo\f', writer).map(({ t }) => t)).toEqual(['Para', 'RawBlock', 'Para']);
  });

  it('stays a form feed in text', () =>
    expect(blocksOf(`${columns}\fnext`, 'plain')).toEqual([{ t: 'RawBlock', c: ['plain', `${columns}\fnext`] }]));
});
