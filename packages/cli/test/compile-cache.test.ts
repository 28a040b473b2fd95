import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { newFolder } from './fileconv';

const compileCache = path.resolve(__dirname, '../dist/compile-cache.js');
// Newer versions of Node keep compiled code themselves.
const itHere = process.versions.node.startsWith('20.') ? it : it.skip;

let folder: string;
beforeEach(async () => (folder = await newFolder()));

/** What a module prints in a process that keeps its compiled code in `cache`. */
async function run(source: string): Promise<string> {
  await writeFile(path.join(folder, 'module.js'), source);
  const program = `require(${JSON.stringify(compileCache)}).keepCompiledCode('cache'); require('./module.js')`;
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ['-e', program], { cwd: folder });
  return stdout + stderr;
}

async function keptFile(): Promise<string> {
  const [name = '', ...others] = await readdir(path.join(folder, 'cache'));
  expect(others).toEqual([]);
  return path.join(folder, 'cache', name);
}

const source = 'const say = (what) => console.log(what); say(1);';

itHere('a module is compiled once, and again when its source has changed', async () => {
  expect(await run(source)).toBe('1\n');
  const { mtimeMs, mode } = await stat(await keptFile());
  expect(mode & 0o077).toBe(0);

  expect(await run(source)).toBe('1\n');
  expect((await stat(await keptFile())).mtimeMs).toBe(mtimeMs);

  expect(await run(source.replace('1', '2'))).toBe('2\n');
});

itHere('a damaged file is replaced', async () => {
  await run(source);
  const file = await keptFile();
  const damaged = await readFile(file);
  damaged.fill(0xff, damaged.length - 100, damaged.length - 90);
  await writeFile(file, damaged);

  expect(await run(source)).toBe('1\n');
  expect((await readFile(file)).equals(damaged)).toBe(false);
});

itHere('a module that imports works twice', async () => {
  const importing = "void import('node:os').then(({ EOL }) => console.log(JSON.stringify(EOL)));";

  expect([await run(importing), await run(importing)]).toEqual(['"\\n"\n', '"\\n"\n']);
});

itHere('the files of eight installations are kept', async () => {
  const cache = path.join(folder, 'cache');
  await mkdir(cache);
  for (let number = 0; number < 10; number += 1) {
    const file = path.join(cache, `compiled-old-${number}`);
    await writeFile(file, '');
    await utimes(file, number + 1, number + 1);
  }

  await run(source);
  const names = await readdir(cache);
  expect(names).toHaveLength(8);
  expect(names.filter((name) => name.includes('old')).sort()).toEqual(
    [3, 4, 5, 6, 7, 8, 9].map((n) => `compiled-old-${n}`),
  );
});

it('a module runs where nothing can be kept', async () => {
  await writeFile(path.join(folder, 'cache'), 'a file');

  expect(await run(source)).toBe('1\n');
});

itHere('a module that Node refuses is explained by Node', async () => {
  await mkdir(path.join(folder, 'cache'));

  await expect(run('const = 1;')).rejects.toThrow('module.js:1');
});
