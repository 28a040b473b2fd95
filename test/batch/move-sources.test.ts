import { readdir, symlink } from 'node:fs/promises';
import path from 'node:path';
import { moveSources, restoreFailed } from '../../src/batch/move-sources';
import type { MoveOptions } from '../../src/storage/file-store';
import { StorageError } from '../../src/storage/errors';
import { createLocalFiles } from '../../src/storage/local-files';
import { moveByCopy } from '../../src/storage/move';
import { MemoryFiles } from '../support/memory-files';
import { addFiles, folderUri, makeTree } from './folder';

/** Moves that fail halfway. `objects-killed-steps.slow.test.ts` covers killed moves. */

class MovingFiles extends MemoryFiles {
  mayRemove = true;

  move(options: MoveOptions) {
    return moveByCopy(options, this, () => {
      const message = 'Access denied.';
      if (!this.mayRemove) throw new StorageError({ code: 'SOURCE_UNREADABLE', message, uri: options.uri });
      return Promise.resolve(this.files.delete(options.uri));
    });
  }
}

const place = 'memory:///';
const moves = { from: `${place}in/`, failed: `${place}failed/` };

const content = { bytes: 1, sha256: 'ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb' };
const failedResult = { status: 'failed', charge: 'no', code: 'FAILED_CONVERT', message: 'No.', source: content };

function failedRun(name: string) {
  const files = new MovingFiles();
  const source = `${moves.from}${encodeURIComponent(name)}`;
  files.files.set(source, Buffer.from('a'));
  const row = { item: 1, source, output: 'pdf', destination: `${place}out/a.pdf` };
  const result = { item: 1, ...failedResult };
  const put = (file: string, value: unknown) =>
    files.files.set(place + file, Buffer.from(`${JSON.stringify(value)}\n`));
  put('runs/run-0001/manifest.jsonl', row);
  put('runs/run-0001/results.jsonl', result);
  const sweep = () =>
    moveSources(files, { folder: `${place}runs/run-0001/`, batch: 'hot', moves }, { jobKey: 'move', attempt: 1 });
  const names = () => [...files.files.keys()].filter((each) => !each.includes('/runs/')).sort();
  return { files, sweep, names, source };
}

it('a failed source that was copied but could not be removed gets its reason when the next sweep moves it', async () => {
  const { files, sweep, names, source } = failedRun('a.md');
  files.mayRemove = false;
  expect(await sweep()).toEqual({ files: 1, why: 'Access denied.' });
  expect(names()).toContain(source);
  files.mayRemove = true;
  expect(await sweep()).toBeUndefined();
  expect(names()).toEqual([`${moves.failed}a.md`, `${moves.failed}a.md.reason.txt`]);
});

it('a link stays, and is reported by its path', async () => {
  const cwd = await makeTree({ 'in a/b.md': 'a' });
  await symlink('b.md', path.join(cwd, 'in a/l.md'));
  const row = { item: 1, source: `${folderUri(cwd)}in%20a/l.md`, output: 'pdf', destination: `${folderUri(cwd)}l.pdf` };
  await addFiles(cwd, {
    'run-0001/manifest.jsonl': JSON.stringify(row),
    'run-0001/results.jsonl': JSON.stringify({ item: 1, ...failedResult }),
  });
  const linked = { from: folderUri(cwd, 'in a'), failed: folderUri(cwd, 'failed') };
  const what = { folder: folderUri(cwd, 'run-0001'), batch: 'hot', moves: linked };
  expect(await moveSources(createLocalFiles(), what, { jobKey: 'move', attempt: 1 })).toEqual({
    files: 1,
    why: `Cannot read ${cwd}/in a/l.md: it is a symbolic link, which stays where it is.`,
  });
});

it.each(['a.md ', `${'é'.repeat(124)}.md`])('a file named "%s" is restored unchanged', async (name) => {
  const { files, sweep, names, source } = failedRun(name);
  await sweep();
  expect(names()).not.toContain(source);
  await restoreFailed(files, { batch: 'hot', moves });
  expect(names()).toEqual([source]);
});

it('many concurrent failures each get their own reason', async () => {
  const failing = Array.from({ length: 60 }, (_, n) => ({ item: n + 1, name: `${n}.md` }));
  const root = await makeTree(Object.fromEntries(failing.map(({ name }) => [`in/${name}`, 'a'])));
  const [from, failed, folder] = ['in', 'failed', 'runs/run-0001'].map((name) => folderUri(root, name)) as [
    string,
    string,
    string,
  ];
  const lines = (of: (row: { item: number; name: string }) => object) =>
    failing.map((row) => `${JSON.stringify({ item: row.item, ...of(row) })}\n`).join('');
  await addFiles(root, {
    'runs/run-0001/manifest.jsonl': lines(({ name }) => ({ source: from + name, output: 'pdf', destination: name })),
    'runs/run-0001/results.jsonl': lines(() => failedResult),
  });
  const writing = { jobKey: 'move', attempt: 1 };
  const moving = { folder, batch: 'hot', moves: { from, failed } };
  expect(await moveSources(createLocalFiles(), moving, writing)).toBeUndefined();
  expect(await readdir(path.join(root, 'failed'))).toHaveLength(120);
});

it('a foreign file with the name of a reason is left alone, however large', async () => {
  const { files, sweep, names } = failedRun('a.md');
  await sweep();
  files.files.set(`${moves.failed}b.md.reason.txt`, Buffer.alloc(2 ** 20 + 1, 'Name: b.md\n'));
  files.files.set(`${moves.failed}b.md`, Buffer.from('b'));
  await restoreFailed(files, { batch: 'hot', moves });
  expect(names()).toEqual([`${moves.failed}b.md`, `${moves.failed}b.md.reason.txt`, `${moves.from}a.md`]);
});

it('files that another batch has moved to the same folder are left alone', async () => {
  const { files, sweep, names } = failedRun('a.md');
  await sweep();
  await restoreFailed(files, { batch: 'hot 2', moves });
  expect(names()).toEqual([`${moves.failed}a.md`, `${moves.failed}a.md.reason.txt`]);
});
