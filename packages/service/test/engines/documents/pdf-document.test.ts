import { preparePdfDocument } from '../../../src/engines/documents/pdf-document';
import { tinyPng } from '../../support';

const a4 = { width: 595, height: 842, margin: 90 };
const none = { media: new Map<string, Uint8Array>(), keepReferences: true, page: a4 };
const noAttributes = ['', [], []];
const text = [{ t: 'Str', c: 'text' }];

function prepare(blocks: unknown[], { meta = {}, ...options }: { meta?: object } & Partial<typeof none> = {}) {
  const prepared = preparePdfDocument(JSON.stringify({ meta, blocks }), { ...none, ...options });
  return { ...prepared, document: JSON.parse(prepared.json) as { meta: object; blocks: unknown[] } };
}

describe('a document prepared for PDF', () => {
  it('loses raw blocks and raw inlines of every format', () => {
    const { json } = prepare([
      { t: 'RawBlock', c: ['typst', '#panic()'] },
      { t: 'Para', c: [{ t: 'RawInline', c: ['typst', '#panic()'] }] },
    ]);
    expect(json).not.toContain('panic');
  });

  it('shows title, authors and date above its text, passes metadata on as plain text, and drops the rest', () => {
    const string = (value: string) => ({ t: 'MetaString', c: value });
    const { json, document, properties } = prepare([{ t: 'Para', c: text }], {
      meta: {
        title: { t: 'MetaInlines', c: [...text, { t: 'RawInline', c: ['typst', '#panic()'] }] },
        author: {
          t: 'MetaList',
          c: [string('Ann'), { t: 'MetaMap', c: { name: string('Bo "B"'), mail: string('b@c') } }],
        },
        keywords: { t: 'MetaList', c: [] },
        lang: string('de-AT'),
        template: string('@preview/x'),
      },
    });
    expect(json).not.toMatch(/panic|preview/);
    const shown = (document.blocks as { t: string; c: unknown }[]).filter(({ t }) => t !== 'RawBlock');
    expect(shown.map(({ t }) => t)).toEqual(['Plain', 'Plain', 'Plain', 'Plain', 'Para']);
    const authors = ['Ann', 'Bo "B"', 'b@c'];
    expect(properties).toEqual({ title: 'text', authors, keywords: [], lang: 'de', region: 'at' });
    expect(prepare([], { meta: { lang: string('en", x: read("/")') } }).properties.lang).toBe('en');
  });

  it('keeps only plain sizes and harmless classes of attributes', () => {
    const attributes = [
      'a b',
      ['c++', 'x```#panic()'],
      [
        ['width', '50%'],
        ['height', 'read(1)'],
        ['typst:fill', 'panic()'],
      ],
    ];
    const { document } = prepare([{ t: 'CodeBlock', c: [attributes, 'code'] }]);
    expect(document.blocks).toEqual([{ t: 'CodeBlock', c: [['', ['c++'], [['width', '50%']]], 'code'] }]);
  });

  it('keeps an internal link only if its target exists, and each identifier only once', () => {
    const header = { t: 'Header', c: [1, ['here', [], []], text] };
    const link = (target: string) => ({ t: 'Link', c: [noAttributes, text, [target, '']] });
    const { document } = prepare([header, header, { t: 'Para', c: [link('#here'), link('#gone'), link('')] }]);
    const plain = { t: 'Span', c: [noAttributes, text] };
    expect(document.blocks).toEqual([
      header,
      { t: 'Header', c: [1, noAttributes, text] },
      { t: 'Para', c: [link('#here'), plain, plain] },
    ]);
  });

  it('shows the text of a citation without its bibliography', () => {
    const { document } = prepare([{ t: 'Para', c: [{ t: 'Cite', c: [[{ citationId: 'doe' }], text] }] }]);
    expect(document.blocks).toEqual([{ t: 'Para', c: [{ t: 'Span', c: [noAttributes, text] }] }]);
  });

  it('loses rows without cells, in every part of a table', () => {
    const row = (...cells: string[]) => [noAttributes, cells];
    const table = (rows: unknown[]) => {
      const part = [noAttributes, rows];
      return { t: 'Table', c: [noAttributes, [null, []], [], part, [[noAttributes, 0, rows, rows]], part] };
    };
    const { document } = prepare([table([row('a'), row(), row('b'), row()]), table([])]);
    expect(document.blocks).toEqual([table([row('a'), row('b')]), table([])]);
  });

  it('maps the images it contains, and names those it lacks', () => {
    const image = (source: string) => ({ t: 'Image', c: [noAttributes, text, [source, '']] });
    const sources = [
      'media/1',
      `data:image/png;base64,${tinyPng.toString('base64')}`,
      'data:image/svg+xml,%3Csvg%20xmlns=%22x%22/%3E',
      'a.png',
      'data:image/png;base64,aGk=',
    ];
    const { images, missing } = prepare([{ t: 'Para', c: sources.map(image) }], {
      media: new Map([['media/1', tinyPng]]),
    });
    expect([...images.keys()]).toEqual(['/images/0.png', '/images/1.png', '/images/2.svg']);
    expect(missing).toEqual(['a.png', 'data:image/png;base64,aGk=']);
  });
});

describe('a table prepared for PDF', () => {
  const cell = (value: string) => [
    noAttributes,
    { t: 'AlignDefault' },
    1,
    1,
    [{ t: 'Plain', c: [{ t: 'Str', c: value }] }],
  ];
  const row = (values: string[]) => [noAttributes, values.map(cell)];
  const table = (rows: string[][], headRows = 1) => {
    const columns = (rows[0] ?? []).map(() => [{ t: 'AlignDefault' }, { t: 'ColWidthDefault' }]);
    const [head, body] = [rows.slice(0, headRows).map(row), rows.slice(headRows).map(row)];
    return {
      t: 'Table',
      c: [noAttributes, [null, []], columns, [noAttributes, head], [[noAttributes, 0, [], body]], [noAttributes, []]],
    };
  };
  const kinds = (blocks: unknown[]) => (blocks as { t: string }[]).map(({ t }) => t);
  const widthsOf = (block: unknown) => {
    const { c } = block as { c: [unknown, unknown, [unknown, { c?: number }][]] };
    return c[2].map(([, width]) => width.c);
  };

  it('leaves its column widths to typst if it fits', () => {
    const { document } = prepare([
      table([
        ['a', 'b'],
        ['1', '2'],
      ]),
    ]);
    expect(document.blocks).toEqual([
      table([
        ['a', 'b'],
        ['1', '2'],
      ]),
    ]);
  });

  it('gives each column room for its longest word, and the rest to long lines', () => {
    const { document } = prepare([
      table([
        ['id', 'text'],
        ['IDENTIFIER-0001', 'many words '.repeat(40)],
      ]),
    ]);
    const [id = 0, words = 0] = widthsOf(document.blocks[0]);
    expect(id).toBeGreaterThan(0.2);
    expect(words).toBeGreaterThan(id);
    expect(id + words).toBeLessThanOrEqual(1);
  });

  it('with too many columns gets smaller letters, then a landscape page, then a larger one', () => {
    const many = (columns: number) =>
      table([Array.from({ length: columns }, (_, x) => `column-${x}`), Array.from({ length: columns }, () => '1')]);
    const small = prepare([many(9)]).document.blocks;
    expect(kinds(small)).toEqual(['Table']);
    expect(JSON.stringify(small)).toMatch(/"typst:text:size","[789]pt"/);
    const turned = prepare([many(16)]).document.blocks;
    expect(kinds(turned)).toEqual(['RawBlock', 'Table', 'RawBlock']);
    expect(turned[0]).toEqual({ t: 'RawBlock', c: ['typst', '#page(width: 842pt, height: 595pt, margin: 42pt)['] });
    const [, width] = /width: (\d+)/.exec(JSON.stringify(prepare([many(60)]).document.blocks[0])) ?? [];
    expect(Number(width)).toBeGreaterThan(842);
  });

  it('in a list breaks words instead of overprinting them', () => {
    const wide = table([Array.from({ length: 40 }, (_, x) => `column-${x}`)], 0);
    expect(JSON.stringify(prepare([{ t: 'BulletList', c: [[wide]] }]).document.blocks)).toContain('c\u200bo\u200bl');
  });

  it('loses no row to a header that is too tall to repeat', () => {
    const { document } = prepare([
      table(
        Array.from({ length: 30 }, (_, y) => [`row ${y}`]),
        20,
      ),
    ]);
    const { c } = document.blocks[0] as {
      c: [unknown, unknown, unknown, [unknown, unknown[]], [unknown, unknown, unknown, unknown[]][]];
    };
    expect([c[3][1].length, c[4][0]?.[3].length]).toEqual([0, 30]);
  });
});
