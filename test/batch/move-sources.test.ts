import { moveSources, restoreFailed } from '../../src/batch/move-sources';
import type { MoveOptions } from '../../src/storage/file-store';
import { StorageError } from '../../src/storage/errors';
import { moveByCopy } from '../../src/storage/move';
import { MemoryFiles } from '../support/memory-files';

/** Moves that fail half way. Killed ones: `objects-killed-steps.slow.test.ts`. */

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

function failedRun(name: string) {
  const files = new MovingFiles();
  const source = `${moves.from}${encodeURIComponent(name)}`;
  files.files.set(source, Buffer.from('a'));
  const row = { item: 1, source, output: 'pdf', destination: `${place}out/a.pdf` };
  const content = { bytes: 1, sha256: 'ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb' };
  const result = { item: 1, status: 'failed', charge: 'no', code: 'FAILED_CONVERT', message: 'No.', source: content };
  const put = (file: string, value: unknown) =>
    files.files.set(place + file, Buffer.from(`${JSON.stringify(value)}\n`));
  put('runs/run-0001/manifest.jsonl', row);
  put('runs/run-0001/results.jsonl', result);
  const sweep = () =>
    moveSources(files, { folder: `${place}runs/run-0001/`, batch: 'hot', moves }, { jobKey: 'move', attempt: 1 });
  const names = () => [...files.files.keys()].filter((each) => !each.includes('/runs/')).sort();
  return { files, sweep, names, source };
}

it('a failed source whose copy could not be followed by its removal has its reason when the next sweep moves it', async () => {
  const { files, sweep, names, source } = failedRun('a.md');
  files.mayRemove = false;
  expect(await sweep()).toEqual({ files: 1, why: 'Access denied.' });
  expect(names()).toContain(source);
  files.mayRemove = true;
  expect(await sweep()).toBeUndefined();
  expect(names()).toEqual([`${moves.failed}a.md`, `${moves.failed}a.md.reason.txt`]);
});

it('a name that ends with a space is restored as it was', async () => {
  const { files, sweep, names, source } = failedRun('a.md ');
  await sweep();
  expect(names()).not.toContain(source);
  await restoreFailed(files, moves);
  expect(names()).toEqual([source]);
});

it('what somebody has put there under the name of a reason is left alone, however large', async () => {
  const { files, sweep, names } = failedRun('a.md');
  await sweep();
  files.files.set(`${moves.failed}b.md.reason.txt`, Buffer.alloc(2 ** 20 + 1, 'Name: b.md\n'));
  files.files.set(`${moves.failed}b.md`, Buffer.from('b'));
  await restoreFailed(files, moves);
  expect(names()).toEqual([`${moves.failed}b.md`, `${moves.failed}b.md.reason.txt`, `${moves.from}a.md`]);
});
