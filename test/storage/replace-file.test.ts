import { mkdir, mkdtemp, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readOrCreateFile, replaceFile } from '../../src/storage/replace-file';

let folder: string;

beforeEach(async () => (folder = await mkdtemp(path.join(tmpdir(), 'replace-file-'))));

it('leaves the complete content of one concurrent writer, and no other file', async () => {
  const file = path.join(folder, 'state.json');
  const contents = Array.from({ length: 20 }, (_, index) => String(index).repeat(50_000));
  await Promise.all(contents.map((content) => replaceFile(file, content)));

  expect(contents).toContain(await readFile(file, 'utf8'));
  expect(await readdir(folder)).toEqual(['state.json']);
});

it('gives the file the requested mode', async () => {
  const file = path.join(folder, 'secret');
  await replaceFile(file, 'text', { mode: 0o600 });

  expect((await stat(file)).mode & 0o777).toBe(0o600);
});

it("leaves nothing behind when the file can't be replaced", async () => {
  const file = path.join(folder, 'taken');
  await mkdir(file);

  await expect(replaceFile(file, 'text')).rejects.toThrow(/EISDIR|EPERM|EEXIST/);
  expect(await readdir(folder)).toEqual(['taken']);
});

it('lets the first of several concurrent creators win for all, and makes the file readable by its owner only', async () => {
  const file = path.join(folder, 'key');
  const read = await Promise.all(['a', 'b', 'c', 'd'].map((content) => readOrCreateFile(file, () => content)));
  expect([new Set(read).size, (await stat(file)).mode & 0o777]).toEqual([1, 0o600]);
  expect(await readdir(folder)).toEqual(['key']);

  await writeFile(file, 'another');
  expect(await readOrCreateFile(file, () => 'a')).toBe('another');
});
