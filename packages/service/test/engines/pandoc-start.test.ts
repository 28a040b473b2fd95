import { execFileSync } from 'node:child_process';
import path from 'node:path';

/** Runs in a child process, like an engine, because jest cannot load ES modules. */
const program = `
const { loadPandoc } = require(${JSON.stringify(path.resolve(__dirname, '../../dist/engines/pandoc-start.js'))});
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
