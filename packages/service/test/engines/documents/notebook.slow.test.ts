import { engineNamesOfNpm } from '../../../src/engines/engine';
import { serviceOfAllTests, tinyPng } from '../../support';

/** A notebook shows what Jupyter shows, in formats with and without HTML. */

const running = serviceOfAllTests({ conversionConcurrency: 1, engines: engineNamesOfNpm });

const code = (output: object) => ({
  cell_type: 'code',
  execution_count: 1,
  metadata: {},
  source: ['Typed'],
  outputs: [{ metadata: {}, ...output }],
});
const shows = (data: object) => code({ output_type: 'display_data', data });

const cells = [
  code({
    output_type: 'stream',
    name: 'stdout',
    text: ['\u001b[?25l\u001b]8;;http://a\u0007\u001b[31mStreamed\u001b[0m\u001b]8;;\u0007'],
  }),
  shows({ 'text/html': ['<table><tr><td>Tabled</td></tr></table>'], 'text/plain': ['Plain'] }),
  shows({ 'text/html': '<script>draw()</script>', 'text/plain': 'Drawn' }),
  shows({ 'text/markdown': '**Marked**', 'text/plain': ['<object>'] }),
  shows({ 'text/latex': ['$\\mathrm{Set}$'] }),
  shows({ 'image/png': tinyPng.toString('base64'), 'text/plain': ['<Figure>'] }),
  shows({ 'application/json': { a: 1 }, 'text/plain': ['Jsoned'] }),
  code({ output_type: 'error', ename: 'Broken', evalue: 'Reason', traceback: ['\u001b[0;31mTraced\u001b[0m'] }),
  { cell_type: 'raw', metadata: {}, source: ['Raw ``` cell'] },
  { cell_type: 'raw', metadata: { format: 'text/html' }, source: ['<b>Bold</b>'] },
  { cell_type: 'raw', metadata: { format: 'text/markdown' }, source: ['*Slanted*'] },
];
const seen = 'Typed Streamed Tabled Drawn Marked Set Jsoned Broken Reason Traced Raw Bold Slanted'.split(' ');

const notebook = (some: readonly object[]) =>
  JSON.stringify({ cells: some, metadata: {}, nbformat: 4, nbformat_minor: 5 });

async function converted(data: string, output: string) {
  const { bytes, warning } = await running.client.convertToBytes({ name: 'a.ipynb', data }, output);
  const isPdf = output === 'pdf';
  const text = isPdf ? (await running.client.convertToBytes({ name: 'a.pdf', data: bytes }, 'txt')).bytes : bytes;
  return { text: text.toString('utf8'), warning };
}

it.each(['html', 'md', 'txt', 'pdf'])('keeps its content as %s', async (output) => {
  const { text, warning } = await converted(notebook(cells), output);
  // A formula in HTML has tags around each letter.
  expect(seen.filter((word) => word !== 'Set' && !text.includes(word))).toEqual([]);
  expect(text).not.toContain('\u001b');
  const isText = output === 'txt' || output === 'md';
  expect(warning).toEqual(isText ? { IMAGES_LOST: expect.stringMatching(/^1 image/) as string } : {});
});

it('counts outputs that only a browser can draw', async () => {
  const drawn = shows({ 'text/html': ['<div id="a"></div><script>draw()</script>'] });
  const film = shows({ 'text/html': '<video src="data:video/mp4;base64,"></video> Filmed' });
  const widget = shows({ 'application/vnd.jupyter.widget-view+json': {}, 'text/plain': 'Slider()' });
  const answer = shows({ 'application/vnd.google.colaboratory.intrinsic+json': {}, 'text/plain': "'answer'" });
  const all = notebook([drawn, shows({ 'application/x-plot': {} }), film, widget, answer]);
  const { text, warning } = await converted(all, 'txt');
  expect(['Filmed', 'Slider', 'answer'].filter((word) => !text.includes(word))).toEqual([]);
  expect(warning).toEqual({
    OUTPUTS_LOST: expect.stringMatching(/^4 output\(s\) of cells/) as string,
    MEDIA_LOST: expect.stringMatching(/^1 film/) as string,
  });
});

it('reads an old notebook as far as pandoc can, with a warning', async () => {
  const outputs = [{ output_type: 'stream', stream: 'stdout', text: ['Streamed'] }];
  const old = [{ cell_type: 'code', language: 'python', metadata: {}, input: ['Typed'], outputs, collapsed: false }];
  const data = JSON.stringify({ worksheets: [{ cells: old }], metadata: {}, nbformat: 3, nbformat_minor: 0 });
  const { text, warning } = await converted(data, 'txt');
  expect(text).toMatch(/Typed\s+Streamed/);
  expect(warning).toEqual({ OUTPUTS_LOST: expect.stringMatching(/before 2015\. Save it/) as string });
});

it('recognizes formulas in text', async () => {
  const source = [
    'Text\n',
    '\n',
    '\\begin{align}\n',
    'a &= 2 \\\\\n',
    'b &= 3\n',
    '\\end{align}\n',
    '\n',
    '$$\n\\begin{aligned}c\\end{aligned}\n$$',
  ];
  const typed = { cell_type: 'markdown', metadata: {}, source };
  const shown = shows({ 'text/latex': '\\begin{equation}d\\end{equation}' });
  const { text } = await converted(notebook([typed, shown]), 'tex');
  expect(text.slice(text.indexOf('Text'))).toContain('a &= 2 \\\\');
  expect(text.match(/\\begin\{(align|equation)/g)).toHaveLength(3);
});
