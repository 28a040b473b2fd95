import { preparePdfDocument } from '../../src/engines/pdf-document';
import { tinyPng } from '../support';

const none = { media: new Map<string, Uint8Array>(), keepReferences: true };
const noAttributes = ['', [], []];
const text = [{ t: 'Str', c: 'text' }];

function prepare(blocks: unknown[], { meta = {}, ...options }: { meta?: object } & Partial<typeof none> = {}) {
  const prepared = preparePdfDocument(JSON.stringify({ meta, blocks }), { ...none, ...options });
  return { ...prepared, document: JSON.parse(prepared.json) as { meta: object; blocks: unknown[] } };
}

describe('a document on its way to PDF', () => {
  it('loses raw blocks and raw text of every format', () => {
    const { json } = prepare([
      { t: 'RawBlock', c: ['typst', '#panic()'] },
      { t: 'Para', c: [{ t: 'RawInline', c: ['typst', '#panic()'] }] },
    ]);
    expect(json).not.toContain('panic');
  });

  it('keeps only known metadata, and a language only when it looks like one', () => {
    const string = (value: string) => ({ t: 'MetaString', c: value });
    const { document } = prepare([], {
      meta: { title: string('T'), lang: string('de-AT'), template: string('@preview/x'), mainfont: string('x') },
    });
    expect(Object.keys(document.meta)).toEqual(['title', 'lang']);
    expect(prepare([], { meta: { lang: string('en", x: read("/")') } }).document.meta).toEqual({});
  });

  it('keeps of attributes only plain sizes and harmless classes', () => {
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

  it('keeps a link within the document only when its target exists, and each identifier once', () => {
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

  it('shows the text of a citation, whose bibliography it does not have', () => {
    const { document } = prepare([{ t: 'Para', c: [{ t: 'Cite', c: [[{ citationId: 'doe' }], text] }] }]);
    expect(document.blocks).toEqual([{ t: 'Para', c: [{ t: 'Span', c: [noAttributes, text] }] }]);
  });

  it('loses rows without cells of their own, in every part of a table', () => {
    const row = (...cells: string[]) => [noAttributes, cells];
    const table = (rows: unknown[]) => {
      const part = [noAttributes, rows];
      return { t: 'Table', c: [noAttributes, [null, []], [], part, [[noAttributes, 0, rows, rows]], part] };
    };
    const { document } = prepare([table([row('a'), row(), row('b'), row()]), table([])]);
    expect(document.blocks).toEqual([table([row('a'), row('b')]), table([])]);
  });

  it('maps images that it contains, and names those that it does not', () => {
    const image = (source: string) => ({ t: 'Image', c: [noAttributes, text, [source, '']] });
    const svg = 'data:image/svg+xml,%3Csvg%20xmlns=%22x%22/%3E';
    const sources = [
      'media/1',
      `data:image/png;base64,${tinyPng.toString('base64')}`,
      svg,
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
