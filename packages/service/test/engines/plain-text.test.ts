import { plainTextDocument } from '../../src/engines/plain-text';

/** Text without markup: what its blanks and form feeds mean. */

interface Block {
  t: string;
  c: unknown;
}

const blocksOf = (text: string, writer = 'docx'): Block[] =>
  (JSON.parse(plainTextDocument(text, writer)) as { blocks: Block[] }).blocks;

const columns =
  'NAME            DEPT        HOURS\nSMITH J         SALES          40\n    TOTAL                    47.5\n';

describe('text in columns', () => {
  it('keeps every blank, in letters of one width', () =>
    expect(blocksOf(columns)).toEqual([{ t: 'CodeBlock', c: [['', ['fixed-pitch'], []], columns.trimEnd()] }]));

  it('has tabs every eight letters', () =>
    expect(blocksOf('a\tb\n12345678\tc')).toMatchObject([{ c: [{}, 'a       b\n12345678        c'] }]));

  it.each(['One sentence.  And another.', '    An indented line\nand one that is not', 'words and words'])(
    'is not: %s',
    (text) => expect(blocksOf(text).map(({ t }) => t)).toEqual(['Para']),
  );
});

it('ordinary text keeps indents, and more than one blank', () =>
  expect(blocksOf('    In.  Two')).toEqual([
    { t: 'Para', c: [{ t: 'Str', c: '\u00a0\u00a0\u00a0\u00a0In.\u00a0' }, { t: 'Space' }, { t: 'Str', c: 'Two' }] },
  ]));

describe('a form feed', () => {
  it.each(['docx', 'odt', 'rtf', 'latex', 'html5', 'json'])('begins a page: %s', (writer) => {
    expect(blocksOf('one\f\ntwo\f', writer).map(({ t }) => t)).toEqual(['Para', 'RawBlock', 'Para']);
  });

  it('stays one in text', () =>
    expect(blocksOf(`${columns}\fnext`, 'plain')).toEqual([{ t: 'RawBlock', c: ['plain', `${columns}\fnext`] }]));
});
