import { execFileSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

const compiled = path.resolve(__dirname, '../../../dist/engines/documents/pandoc-start.js');
const installed = path.resolve(__dirname, '../../../../../node_modules/pandoc-wasm');

/** Runs in a child process, like an engine, because jest cannot load ES modules. */
const program = `
const { loadPandoc } = require(${JSON.stringify(compiled)});
const { instantiate } = WebAssembly;
let memory;
WebAssembly.instantiate = async (...given) => {
  const made = await instantiate(...given);
  ({ memory } = made.instance.exports);
  return made;
};
(async () => {
  const { convert } = await loadPandoc();
  const options = { from: 'gfm', to: 'html', 'input-files': ['in.md'], 'output-file': 'out' };
  const again = () => convert(options, null, { 'in.md': new Blob(['*word*']) });
  for (let times = 1; times < 30; times += 1) await again();
  const { files } = await again();
  console.log(JSON.stringify({ html: await files.out.text(), mebibytes: memory.buffer.byteLength / 1024 / 1024 }));
})();`;

test('starts pandoc with memory whose growth V8 does not treat as memory pressure', () => {
  const said = execFileSync(process.execPath, ['-e', program], { encoding: 'utf8' });
  const { html, mebibytes } = JSON.parse(said) as { html: string; mebibytes: number };
  expect(html).toBe('<p><em>word</em></p>\n');
  expect(mebibytes).toBeLessThan(64);
});

const installing = `
const { symlinkSync } = require('node:fs');
const { loadPandoc } = require('./pandoc-start.js');
(async () => {
  const first = await loadPandoc().catch(({ code }) => code);
  symlinkSync(${JSON.stringify(installed)}, 'node_modules/pandoc-wasm');
  console.log(first + ', then ' + typeof (await loadPandoc()).convert);
})();`;

it('loads pandoc once its package is installed, even after an attempt without it', async () => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'pandoc-start-'));
  try {
    await cp(compiled, path.join(folder, 'pandoc-start.js'));
    await mkdir(path.join(folder, 'node_modules'));
    const said = execFileSync(process.execPath, ['-e', installing], { encoding: 'utf8', cwd: folder, stdio: 'pipe' });
    expect(said).toBe('ERR_MODULE_NOT_FOUND, then function\n');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
