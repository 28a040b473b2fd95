import { mkdir, readdir, rm, symlink, utimes } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { summaryOf } from '../../../src/batch/plan/planned-batch';
import { noTotals } from '../../../src/batch/model/state';
import { folderUri, makeTree } from '../folder';
import { convertAll, listRuns, messagesOf, plan, readItems, runFolder, writeResults } from './planning';

describe('a plan of folders', () => {
  it('is the manifest of a new run: a row for each file, with its result in the mirrored folder', async () => {
    const cwd = await makeTree({ 'in/a.md': 'a', 'in/sub/b.DOCX': 'bcd', 'in/sub/deep/c d.md': 'e' });
    expect(await plan(cwd)).toEqual({
      run: { number: 1, folder: folderUri(runFolder(cwd, 1)) },
      rows: 3,
      done: 0,
      kept: 0,
      refused: [],
      bad: 0,
      failures: {},
      todo: 3,
      bytes: 5,
      formats: [
        { input: 'md', extension: 'md', output: 'pdf', rows: 2, bytes: 2 },
        { input: 'docx', extension: 'docx', output: 'pdf', rows: 1, bytes: 3 },
      ],
      totals: noTotals(),
      replaced: 0,
      missing: { count: 0, listed: [] },
      existing: { count: 0, listed: [] },
      folders: 0,
      spent: 0,
      leftOut: { repeated: 0, unmodified: 0, unsettled: 0, ownResults: 0, unread: 0 },
      problems: { count: 0, listed: [] },
      warnings: { count: 0, listed: [] },
    });
    const uri = (name: string) => pathToFileURL(path.join(cwd, name)).href;
    expect(await readItems(cwd)).toEqual([
      { item: 1, source: uri('in/a.md'), output: 'pdf', destination: uri('out/a.pdf') },
      { item: 2, source: uri('in/sub/b.DOCX'), output: 'pdf', destination: uri('out/sub/b.pdf') },
      { item: 3, source: uri('in/sub/deep/c d.md'), output: 'pdf', destination: uri('out/sub/deep/c d.pdf') },
    ]);
    expect((await readdir(runFolder(cwd, 1))).sort()).toEqual(['manifest.jsonl']);
  });

  it('fails rows whose folders lead out of the out folder through a link; the out folder itself may be a link', async () => {
    const cwd = await makeTree({ 'in/a.md': 'a', 'in/sub/b.md': 'b', 'in/sub/deep/c.md': 'c', 'in/near/d.md': 'd' });
    for (const name of ['real/near', 'elsewhere']) await mkdir(path.join(cwd, name), { recursive: true });
    await symlink(path.join(cwd, 'real'), path.join(cwd, 'out'));
    await symlink(path.join(cwd, 'elsewhere'), path.join(cwd, 'real/sub'));
    const planned = await plan(cwd);
    expect(planned).toMatchObject({ rows: 4, todo: 2, failures: { DESTINATION_OUTSIDE: 2 } });
    const out = path.join(cwd, 'out');
    expect(messagesOf(planned.warnings)).toContain(
      `The result of in/sub/b.md: ${out}/sub leads out of ${out} by a link. Name the folder that it leads to with --out, or remove the link. Its item will fail.`,
    );
  });

  it('leaves nothing behind if it is dry, has problems, or is stopped', async () => {
    const cwd = await makeTree({ 'in/a.md': 'a', 'in/a.txt': 'a' });
    const template = '{dir}/{name}.{from}.{ext}';
    expect(await plan(cwd, { dryRun: true, template })).toMatchObject({ rows: 2, todo: 2 });
    expect((await plan(cwd, {})).problems.count).toBe(2);
    expect((await plan(cwd, { mayBeDone: true })).problems.count).toBe(2);
    await expect(plan(cwd, { signal: AbortSignal.abort(new Error('stopped')) })).rejects.toThrow('stopped');
    expect([await readdir(cwd), await listRuns(cwd)]).toEqual([['in'], []]);
  });

  it('takes a file once even if it is named several times', async () => {
    // The result of the second file has a name of 256 bytes, which fails that row only.
    const cwd = await makeTree({ 'in/a.md': 'a', [`in/${'n'.repeat(252)}.md`]: 'b' });
    const planned = await plan(cwd, { what: { sources: ['in', 'in/*.md', 'in/a.md'], to: 'pdf' } });
    expect(planned).toMatchObject({ rows: 2, todo: 1, failures: { DESTINATION_INVALID: 1 }, leftOut: { repeated: 3 } });
  });

  it('takes only files that have changed since a given time', async () => {
    const cwd = await makeTree({ 'in/old.md': 'a', 'in/new.md': 'b' });
    await utimes(path.join(cwd, 'in/old.md'), 1000, 1000);
    const planned = await plan(cwd, { what: { sources: ['in'], to: 'pdf', modifiedSince: 2_000_000 } });
    expect(planned).toMatchObject({ rows: 1, leftOut: { unmodified: 1 } });
  });

  it('never takes results for sources if they go into a folder that is converted', async () => {
    const cwd = await makeTree({ 'in/a.md': 'a', 'in/out/a.pdf': 'result' });
    expect(await plan(cwd, { out: folderUri(cwd, 'in/out') })).toMatchObject({ rows: 1, existing: { count: 1 } });
  });

  it('reports a plan without files as a problem, unless it may be empty', async () => {
    const cwd = await makeTree({ 'in/.hidden': 'a' });
    expect(messagesOf((await plan(cwd)).problems)).toEqual([
      'There are no files to convert. Check the names, and what --exclude leaves out.',
    ]);
    expect(await plan(cwd, { mayBeEmpty: true })).toMatchObject({ rows: 0, problems: { count: 0 } });
  });

  it('fails rows with invalid sources, warns of existing results, and continues with the rest', async () => {
    const cwd = await makeTree({
      'in/empty.md': '',
      'in/a.md': 'a',
      list: 'in/empty.md\nin\ngone.md\nlink.md\nin/a.md',
      'out/in/a.pdf': 'mine',
    });
    await symlink('nowhere', path.join(cwd, 'link.md'));
    await symlink('nowhere', path.join(cwd, 'out/in/empty.pdf'));
    const planned = await plan(cwd, { what: { sources: [], filesFrom: 'list', to: 'pdf' } });
    const failures = { SOURCE_EMPTY: 1, SOURCE_IS_DIRECTORY: 1, SOURCE_NOT_FOUND: 2 };
    expect(planned).toMatchObject({ rows: 5, todo: 1, bad: 4, failures, problems: { count: 0 }, run: { number: 1 } });
    expect(messagesOf(planned.warnings)).toEqual([
      'in/empty.md is empty. Its item will fail.',
      'in is a folder. Its item will fail.',
      'gone.md does not exist. Its item will fail.',
      'link.md is a symbolic link that leads nowhere. Its item will fail.',
    ]);
    expect(messagesOf(planned.existing)).toEqual([`${path.join(cwd, 'out/in/a.pdf')} already exists.`]);
    const [empty] = await readItems(cwd);
    expect(empty?.refused).toEqual({ code: 'SOURCE_EMPTY', message: 'in/empty.md is empty.' });
  });

  it('reports first what was left out, counts it, and continues', async () => {
    const cwd = await makeTree({ 'in/a.md': 'a', 'in/a\nb.md': 'b', 'in/a.txt': '', 'in/sub/c.md': 'c' });
    await symlink('nowhere', path.join(cwd, 'in/sub/lost.md'));
    await mkdir(path.join(cwd, 'none'));
    const planned = await plan(cwd, { what: { sources: ['none', 'in'], recursive: true, to: 'pdf' } });
    expect(planned).toMatchObject({ rows: 3, todo: 1, leftOut: { unread: 2 }, run: { number: 1 } });
    expect(messagesOf(planned.warnings).slice(0, 2)).toEqual([
      String.raw`in/a\x0ab.md has a control character in its name; rename it. It is left out.`,
      'in/sub/lost.md is a symbolic link that leads nowhere. It is left out.',
    ]);
    expect(summaryOf(planned)).toMatchObject({ rows: 3, todo: 1, refused: 2, leftOut: 2 });
  });
});

describe('files that may still be written to', () => {
  const hour = 3_600_000;

  it('are left out if they changed a moment ago', async () => {
    const cwd = await makeTree({ 'in/fresh.md': 'a', 'in/quiet.md': 'c' });
    const old = new Date(Date.now() - 2 * hour);
    await utimes(path.join(cwd, 'in/quiet.md'), old, old);
    expect(await plan(cwd, { settledForMs: hour })).toMatchObject({ rows: 1, leftOut: { unsettled: 1 } });
    expect((await readItems(cwd)).map(({ source }) => path.basename(source))).toEqual(['quiet.md']);
  });
});

it('a run is created for a source that has to be moved, but not repeatedly for a link, which stays', async () => {
  const cwd = await makeTree({ 'in/a.md': 'a', 'elsewhere.md': 'b' });
  await symlink('../elsewhere.md', path.join(cwd, 'in/link.md'));
  const moves = { from: folderUri(cwd, 'in'), done: folderUri(cwd, 'done') };
  await plan(cwd, { moves });
  await writeResults(cwd, await convertAll(cwd));
  expect((await plan(cwd, { moves })).run).toBeDefined();
  await rm(path.join(cwd, 'in/a.md'));
  expect(await plan(cwd, { moves })).toMatchObject({ rows: 1, done: 1 });
  expect((await plan(cwd, { moves })).run).toBeUndefined();
});
