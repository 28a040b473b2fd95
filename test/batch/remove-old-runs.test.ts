import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { hashFile } from '../../src/batch/contents';
import { Ledger } from '../../src/batch/ledger';
import { planBatch } from '../../src/batch/plan/plan-batch';
import { removeOldRuns, runOf } from '../../src/batch/run-folders';
import { createLocalFiles } from '../../src/storage/local-files';
import { makeFolder } from '../storage/folder';
import { folderUri } from './folder';

const files = createLocalFiles();

describe('the runs of a batch that has had many', () => {
  let root: string;
  let batchFolder: string;

  beforeEach(async () => {
    root = await makeFolder();
    batchFolder = path.join(root, 'batch');
    await mkdir(path.join(root, 'in'));
    await mkdir(path.join(root, 'out'));
  });

  const runFolder = (number: number) => path.join(batchFolder, `run-${String(number).padStart(4, '0')}`);

  /** A run that has converted one file of its own. */
  async function addRun(number: number): Promise<void> {
    const [file, result] = [path.join(root, 'in', `${number}.md`), path.join(root, 'out', `${number}.pdf`)];
    await writeFile(file, `# Report ${number}\n`);
    await writeFile(result, `converted ${number}`);
    const [from, destination] = [pathToFileURL(file).href, pathToFileURL(result).href];
    const [source, output] = await Promise.all([hashFile(files, from), hashFile(files, destination)]);
    await mkdir(runFolder(number), { recursive: true });
    const line = (value: unknown) => `${JSON.stringify(value)}\n`;
    await writeFile(
      path.join(runFolder(number), 'manifest.jsonl'),
      line({ item: 1, source: from, output: 'pdf', destination }),
    );
    await writeFile(
      path.join(runFolder(number), 'results.jsonl'),
      line({
        item: 1,
        status: 'succeeded',
        workflowId: 'job',
        source,
        output: { uri: destination, name: `${number}.pdf`, ...output },
      }),
    );
  }

  it('are removed without changing the plan, since the ledger knows all of them', async () => {
    const runs = 43;
    for (let number = 1; number <= runs; number += 1) await addRun(number);
    const plan = () =>
      planBatch({
        files,
        what: { sources: [path.join(root, 'in')], to: 'pdf' },
        folder: folderUri(batchFolder),
        cwd: folderUri(root),
        out: folderUri(root, 'out'),
        dryRun: true,
      });
    const before = await plan();
    expect(before).toMatchObject({ done: runs, todo: 0 });
    const ledger = await Ledger.open(files, folderUri(batchFolder));
    await ledger.save(files, folderUri(batchFolder), { jobKey: 'a test', attempt: 1 });

    expect(await removeOldRuns(files, folderUri(batchFolder))).toBe(3);
    const left = (await readdir(batchFolder)).filter((name) => name.startsWith('run-')).sort();
    expect([[left[0], left.length], await plan()]).toEqual([['run-0004', 40], before]);
    expect(await removeOldRuns(files, folderUri(batchFolder))).toBe(0);
  });

  it('are removed by the next plan if a removal was interrupted, whatever is left of them', async () => {
    for (let number = 1; number <= 43; number += 1) await addRun(number);
    await rm(path.join(runFolder(1), 'manifest.jsonl'));
    await mkdir(path.join(runFolder(2), 'parts'));
    for (const name of ['manifest.jsonl', 'results.jsonl']) await rm(path.join(runFolder(2), name));
    expect(await removeOldRuns(files, folderUri(batchFolder))).toBe(3);
    expect((await readdir(batchFolder)).sort()[0]).toBe('run-0004');
  });

  it('are left alone if they are few, or none', async () => {
    expect(await removeOldRuns(files, folderUri(batchFolder))).toBe(0);
    await addRun(1);
    expect(await removeOldRuns(files, folderUri(batchFolder))).toBe(0);
    expect(await readdir(batchFolder)).toEqual(['run-0001']);
  });

  it('are folders with a number, and nothing else', () => {
    expect(() => runOf(folderUri(root))).toThrow('is not the folder of a run');
    expect(runOf(folderUri(runFolder(7)))).toEqual({ number: 7, folder: folderUri(runFolder(7)) });
  });
});
