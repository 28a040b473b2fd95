import { readFile, rm, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { summaryOf } from '../../../src/batch/plan/planned-batch';
import { defined } from '../../../src/job/defined';
import { addFiles, folderUri, makeTree } from '../folder';
import { convertAll, listRuns, plan, readItems, retry, runFolder, sha256, writeParts, writeResults } from './planning';

const files = { 'in/a.md': 'a', 'in/b.md': 'bb', 'in/c.md': 'ccc' };

const todoOf = async (cwd: string, run: number): Promise<[item: number, isReplaced: true | undefined][]> =>
  (await readItems(cwd, run)).filter(({ done }) => !done).map(({ item, replaces }) => [item, replaces && true]);

describe('a retry', () => {
  it('runs failed rows again under the same numbers, but no successful ones, even if their files have changed', async () => {
    const cwd = await makeTree(files);
    await plan(cwd);
    await writeResults(cwd, await convertAll(cwd, { fail: ['b.md'] }));
    await addFiles(cwd, { 'in/a.md': 'changed', 'in/new.md': 'n' });
    await rm(path.join(cwd, 'out/c.pdf'));
    expect(await retry(cwd)).toMatchObject({
      run: { number: 2, folder: folderUri(runFolder(cwd, 2)) },
      rows: 3,
      done: 2,
      todo: 1,
    });
    expect(await todoOf(cwd, 2)).toEqual([[2, undefined]]);
    const [first] = await readItems(cwd, 2);
    expect(first?.done).toMatchObject({ source: { sha256: sha256('a') }, output: { sha256: sha256('pdf of a') } });
    // The stamp belongs to different content now.
    expect(first?.done?.source).not.toHaveProperty('stamp');
    expect(await plan(cwd)).toMatchObject({ rows: 4, done: 1, missing: { count: 1 }, todo: 3, replaced: 1 });
  });

  it('reports results that are gone, and makes exactly those again with --again', async () => {
    const cwd = await makeTree(files);
    await plan(cwd);
    await writeResults(cwd, await convertAll(cwd));
    await rm(path.join(cwd, 'out/c.pdf'));
    const nothing = await retry(cwd);
    expect(nothing).toMatchObject({ done: 3, todo: 0, missing: { count: 1 } });
    expect(summaryOf(nothing).warnings).toEqual([expect.stringMatching(/c\.pdf is not there any more.*--again/)]);
    expect(await retry(cwd, { again: true })).toMatchObject({ done: 2, todo: 1, missing: { count: 0 } });
    expect(await todoOf(cwd, 2)).toEqual([[3, undefined]]);
  });

  it('runs no successful rows after a retry whose plan was lost, even if their files have changed', async () => {
    const cwd = await makeTree(files);
    await plan(cwd);
    await writeResults(cwd, await convertAll(cwd, { fail: ['b.md'] }));
    await addFiles(cwd, { 'in/a.md': 'changed' });
    await retry(cwd);
    expect(await retry(cwd)).toMatchObject({ run: { number: 3 }, done: 2, todo: 1 });
    expect(await todoOf(cwd, 3)).toEqual([[2, undefined]]);
  });

  it('lets rows of one source share an upload again', async () => {
    const cwd = await makeTree(files);
    await plan(cwd, { what: { sources: ['in'], to: ['pdf', 'html'] } });
    await writeResults(cwd, await convertAll(cwd, { fail: ['b.md'] }));
    expect(await retry(cwd)).toMatchObject({ rows: 6, done: 4, todo: 2 });
    const again = (await readItems(cwd, 2)).filter(({ done }) => !done);
    expect(again.map(({ item, output, sourceGroup }) => [item, output, sourceGroup])).toEqual([
      [3, 'pdf', 3],
      [4, 'html', 3],
    ]);
  });

  it('continues from parts, and from a finished run', async () => {
    const cwd = await makeTree(files);
    await plan(cwd);
    const results = await convertAll(cwd);
    await rm(path.join(cwd, 'out/b.pdf'));
    await writeParts(cwd, results.slice(0, 1));
    expect(await retry(cwd)).toMatchObject({ done: 1, todo: 2 });
    await writeResults(cwd, await convertAll(cwd, { run: 2 }), 2);
    const nothing = await retry(cwd);
    expect(nothing).toMatchObject({ done: 3, todo: 0 });
    expect(nothing.run).toBeUndefined();
    expect(await listRuns(cwd)).toEqual(['run-0001', 'run-0002']);
  });

  it('counts a row as done that was skipped because its result existed', async () => {
    const cwd = await makeTree({ ...files, 'out/a.pdf': 'mine' });
    await plan(cwd);
    const results = await convertAll(cwd, { fail: ['c.md'] });
    await writeFile(path.join(cwd, 'out/a.pdf'), 'mine');
    await writeResults(cwd, [{ item: 1, status: 'skipped' }, ...results.slice(1)]);
    expect(await retry(cwd)).toMatchObject({ done: 2, todo: 1 });
    const [first] = await readItems(cwd, 2);
    expect(first?.done).toMatchObject({
      source: { bytes: 1, sha256: sha256('a') },
      output: { name: 'a.pdf', sha256: sha256('mine') },
    });
    const { source, output } = first?.done ?? {};
    const [, ...others] = await convertAll(cwd, { run: 2 });
    await writeResults(cwd, [defined({ item: 1, status: 'skipped' as const, source, output }), ...others], 2);
    // It was never converted, so a new run decides again, by its own policy.
    expect(await plan(cwd)).toMatchObject({ done: 2, todo: 1, existing: { count: 1 } });
  });

  it('replaces a result of an earlier run only if that result is still there', async () => {
    const cwd = await makeTree(files);
    await plan(cwd);
    await writeResults(cwd, await convertAll(cwd));
    await addFiles(cwd, { 'in/a.md': 'A', 'in/b.md': 'BB' });
    await plan(cwd);
    await writeResults(cwd, await convertAll(cwd, { run: 2, fail: ['a.md', 'b.md'] }), 2);
    const mine = (await readFile(path.join(cwd, 'out/b.pdf'), 'utf8')).toUpperCase();
    await writeFile(path.join(cwd, 'out/b.pdf'), mine);
    expect(await retry(cwd)).toMatchObject({ done: 1, todo: 2, replaced: 1, existing: { count: 1 } });
    expect(await todoOf(cwd, 3)).toEqual([
      [1, true],
      [2, undefined],
    ]);
  });

  it('says what to type if there is no run, and creates none if it is dry or stopped', async () => {
    const cwd = await makeTree(files);
    await expect(retry(cwd)).rejects.toMatchObject({ code: 'NO_EARLIER_RUN' });
    await expect(retry(cwd)).rejects.toThrow('Start one first: fileconv batch run');
    await plan(cwd);
    await utimes(path.join(cwd, 'in/a.md'), 1, 1);
    expect((await retry(cwd, { dryRun: true })).run).toBeUndefined();
    await expect(retry(cwd, { signal: AbortSignal.abort(new Error('stopped')) })).rejects.toThrow('stopped');
    expect(await listRuns(cwd)).toEqual(['run-0001']);
  });
});
