import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileconvProcess, newFolder, parseJson } from './fileconv';
import { sharedStack } from './running-stack';

/** Hides the engines, as in the image of the worker. */
const hide = `const Module = require('node:module');
const resolve = Module._resolveFilename;
const engines = ['sharp', 'pandoc-wasm', '@hyzyla/pdfium', '@e965/xlsx', '@myriaddreamin/typst-ts-node-compiler'];
Module._resolveFilename = function (name, ...others) {
  if (engines.includes(name)) throw Object.assign(new Error(name), { code: 'MODULE_NOT_FOUND' });
  return resolve.call(this, name, ...others);
};`;

it('asks the running service what it converts; without one, says what to install', async () => {
  const cwd = await newFolder();
  for (const name of ['a.md', 'b.mp4']) await writeFile(path.join(cwd, name), '# A\n');
  await writeFile(path.join(cwd, 'hide.cjs'), hide);
  const without = { FILECONV_SERVICE_ENGINES: 'pandoc', NODE_OPTIONS: `--require="${path.join(cwd, 'hide.cjs')}"` };
  const { env } = await sharedStack();
  const run = (args: string[], more: object = env) => fileconvProcess(args, { cwd, env: { ...more, ...without } });
  expect(await run(['convert', 'a.md', '--to', 'html'])).toMatchObject({ code: 0 });
  const refused = await run(['convert', 'b.mp4', '--to', 'html']);
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain("b.mp4 can't be converted: the service");
  const { findings } = parseJson((await run(['doctor', '--json'])).stdout) as { findings: object[] };
  expect(findings).toContainEqual({ part: 'engines', status: 'skipped', says: 'the running service has its own' });
  const alone = await run(['convert', 'a.md', '--to', 'html', '--out', 'alone.html'], {});
  expect(alone.code).toBe(2);
  expect(alone.stderr).toContain('There is no converter for md to html here. Run: npm install pandoc-wasm');
});
