import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** pandoc runs in processes of the service only, and those run what is built. */
const engines = path.resolve(__dirname, '../../dist/engines');

const documents = {
  'nothing at all': '',
  'words that end without a line break': 'Plain words.',
  headings: '# A\n\n## B {#id}\n\nsee [B](#id)',
  'code with a language': '```python\nprint(1)\n```\n\nand `x`{.python}',
  'a table': '| a | b |\n|---|---|\n| 1 | 2 |',
  'a footnote': 'x[^1]\n\n[^1]: note',
  math: '$x^2$ and\n\n$$y$$',
  lists: '- a\n- b\n\n1. x\n2. y\n\nTerm\n\n: Definition',
  quotes: '> "here" and @there says [@so]',
  'a rule, a line block, HTML': 'a\n\n---\n\n| b\n| c\n\n<b>x</b> ~~y~~ ^z^',
  'an image': '![caption](data:image/png;base64,iVBORw0KGgo=)',
  'what looks like the frame': 'thetextofthedocument',
  'a title': '---\ntitle: T\nauthor: A\n---\n\nx',
  'a language': '---\nlang: de\n---\n\nx',
  'metadata that is left out': '---\ntemplate: evil\n---\n\nx',
};

/** All in one process: loading pandoc takes seconds. Another document comes before each, because nothing of it may stay. */
const program = `
  const { runPandoc } = require('./pandoc-engine.js');
  const { preparePdfDocument } = require('./pdf-document.js');
  const { layoutOf, writeTypst } = require('./pdf-engine.js');
  const text = ({ data }) => Buffer.from(data).toString('utf8');
  const read = async (input) => {
    const json = text(await runPandoc({ from: 'markdown', to: 'json', input, inputName: 'a.md' }));
    return preparePdfDocument(json, { media: new Map(), keepReferences: true, page: { width: 595, height: 842, margin: 90 } });
  };
  const options = layoutOf({});
  (async () => {
    const written = {};
    for (const [name, markdown] of Object.entries(${JSON.stringify(documents)})) {
      const document = await read(markdown);
      const whole = text(await runPandoc({ from: 'json', to: 'typst', input: document.json, inputName: 'a.md', options }));
      await writeTypst(await read('of another document'), 'another.md');
      const { source } = await writeTypst(document, 'a.md');
      written[name] = { whole, source };
    }
    process.stdout.write(JSON.stringify(written));
  })();`;

describe('the typst source of a document', () => {
  let written: Record<string, { whole: string; source: string }>;
  beforeAll(async () => {
    const { stdout } = await run(process.execPath, ['-e', program], { cwd: engines });
    written = JSON.parse(stdout) as typeof written;
  });

  it.each(Object.keys(documents))('is what pandoc writes with its template: %s', (name) => {
    const { whole, source } = written[name] ?? {};
    expect(whole).toContain('#show: doc => conf(');
    expect(source).toBe(whole);
  });
});
