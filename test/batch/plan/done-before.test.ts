import { appendFile, mkdir, readFile, rename, rm, truncate, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { messagesOf } from '../../../src/batch/findings';
import { RunFileError } from '../../../src/batch/run-files';
import { StorageError } from '../../../src/storage/errors';
import { createLocalFiles } from '../../../src/storage/local-files';
import { addFiles, folderUri, makeTree } from '../folder';
import { convertAll, listRuns, plan, readItems, runFolder, sha256, writeParts, writeResults, retry } from './planning';

const files = { 'in/a.md': 'a', 'in/b.md': 'bb', 'in/c.md': 'ccc' };

/** A batch whose first run converted everything. */
async function convertedTree(write: typeof writeResults | typeof writeParts = writeResults): Promise<string> {
  const cwd = await makeTree(files);
  await plan(cwd);
  await write(cwd, await convertAll(cwd));
  return cwd;
}

/** The rows that a run will convert, and whether each replaces an existing result. */
async function todoOf(cwd: string, run = 2): Promise<[name: string, isReplaced: true | undefined][]> {
  const items = await readItems(cwd, run);
  return items.filter(({ done }) => !done).map(({ source, replaces }) => [path.basename(source), replaces && true]);
}

describe('a batch that is planned again', () => {
  it.each([
    ['results.jsonl', writeResults],
    ['parts that were never merged', writeParts],
  ])('has nothing to do if nothing has changed, and creates no run (%s)', async (_, write) => {
    const cwd = await convertedTree(write);
    const planned = await plan(cwd);
    expect(planned).toMatchObject({ rows: 3, done: 3, todo: 0, bytes: 0, formats: [], existing: { count: 0 } });
    expect(planned.run).toBeUndefined();
    expect(await listRuns(cwd)).toEqual(['run-0001']);
  });

  it('finds a row whose URI another version of Node escaped otherwise', async () => {
    const cwd = await makeTree({ 'in/a~1.md': 'a', 'in/b[2].md': 'b' });
    await plan(cwd);
    await writeResults(cwd, await convertAll(cwd));
    for (const name of ['manifest.jsonl', 'results.jsonl']) {
      const file = path.join(runFolder(cwd, 1), name);
      const unescaped = (await readFile(file, 'utf8')).replace(/%(?:7E|5B|5D)/g, decodeURIComponent);
      await writeFile(file, unescaped);
    }
    expect(await plan(cwd)).toMatchObject({ done: 2, todo: 0 });
    await addFiles(cwd, { 'in/a~1.md': 'changed' });
    expect(await plan(cwd)).toMatchObject({ done: 1, todo: 1, replaced: 1 });
  });

  it('creates a run for rows that fail in the plan, even if nothing is converted, so that reports and retries know them', async () => {
    const cwd = await convertedTree();
    await addFiles(cwd, { 'in/empty.md': '' });
    for (const run of [2, 3]) {
      const totals = { skipped: 3, failed: 1, refused: 1, failures: { SOURCE_EMPTY: 1 } };
      expect(await plan(cwd)).toMatchObject({ run: { number: run }, todo: 0, bad: 1, totals });
      await writeResults(cwd, await convertAll(cwd, { run }), run);
    }
    expect(await retry(cwd)).toMatchObject({ run: { number: 4 }, todo: 0, failures: { SOURCE_EMPTY: 1 } });
  });

  it('creates no run for a schedule while the same rows fail as in its last one', async () => {
    const cwd = await convertedTree();
    await addFiles(cwd, { 'in/empty.md': '' });
    const scheduled = () => plan(cwd, { mayBeEmpty: true });
    expect(await scheduled()).toMatchObject({ run: { number: 2 } });
    await writeResults(cwd, await convertAll(cwd, { run: 2 }), 2);
    expect((await scheduled()).run).toBeUndefined();
    await addFiles(cwd, { 'in/other.md': '' });
    expect(await scheduled()).toMatchObject({ run: { number: 3 } });
  });

  it('writes nothing if nothing has changed, so it needs no permission to remove files', async () => {
    const cwd = await convertedTree();
    await plan(cwd);
    const files = createLocalFiles();
    const refuse = () => Promise.reject(new Error('it wrote'));
    const readOnly = { ...files, writeDestination: refuse, remove: refuse };
    expect(await plan(cwd, { files: readOnly })).toMatchObject({ rows: 3, done: 3, todo: 0 });
  });

  it('does not treat a temporarily unreadable file as changed', async () => {
    const cwd = await convertedTree();
    await utimes(path.join(cwd, 'in/b.md'), 1, 1);
    const files = createLocalFiles();
    let failures = 0;
    const failing = (most: number) => ({
      ...files,
      read: (...asked: Parameters<typeof files.read>) => {
        if (!asked[0].endsWith('/in/b.md') || failures === most) return files.read(...asked);
        failures += 1;
        return new Readable({
          read() {
            this.destroy(new StorageError({ code: 'STORAGE_FAILED', message: 'cut', uri: asked[0], retryable: true }));
          },
        });
      },
    });
    expect(await plan(cwd, { files: failing(2) })).toMatchObject({ done: 3, todo: 0 });
    await expect(plan(cwd, { files: failing(Infinity) })).rejects.toThrow('cut');
    expect(await listRuns(cwd)).toEqual(['run-0001']);
  });

  it('converts what is new or changed, replaces its own results, and carries over what was done', async () => {
    const cwd = await convertedTree();
    await addFiles(cwd, { 'in/b.md': 'BB', 'in/d.md': 'd' });
    expect(await plan(cwd)).toMatchObject({
      run: { number: 2 },
      rows: 4,
      done: 2,
      todo: 2,
      replaced: 1,
      existing: { count: 0 },
    });
    expect(await todoOf(cwd)).toEqual([
      ['b.md', true],
      ['d.md', undefined],
    ]);
    const [first] = await readItems(cwd, 2);
    expect(first?.done).toEqual({
      source: { bytes: 1, sha256: sha256('a'), stamp: expect.any(String) as string },
      output: { uri: first?.destination, name: 'a.pdf', bytes: 8, sha256: sha256('pdf of a') },
    });
    await writeResults(cwd, await convertAll(cwd, { run: 2 }), 2);
    expect(await plan(cwd)).toMatchObject({ done: 4, todo: 0 });
  });

  it('converts a file again that got another extension, which decides its format, unless one is named', async () => {
    const cwd = await convertedTree();
    await rename(path.join(cwd, 'in/a.md'), path.join(cwd, 'in/a.html'));
    expect(await plan(cwd)).toMatchObject({ done: 2, todo: 1, replaced: 1 });
    await writeResults(cwd, await convertAll(cwd, { run: 2 }), 2);
    expect(await plan(cwd)).toMatchObject({ done: 3, todo: 0 });
    const what = { sources: ['in'], to: 'pdf', input: 'md-gfm' };
    await writeResults(cwd, await convertAll(cwd, { run: (await plan(cwd, { what })).run?.number ?? 0 }), 3);
    await rename(path.join(cwd, 'in/a.html'), path.join(cwd, 'in/a.md'));
    expect(await plan(cwd, { what })).toMatchObject({ done: 3, todo: 0 });
  });

  it('carries over the warnings of done rows', async () => {
    const cwd = await makeTree(files);
    await plan(cwd);
    const warnings = { FONT_MISSING: 'Install it.' };
    const [first, ...others] = await convertAll(cwd);
    await writeResults(cwd, [...(first ? [{ ...first, warnings }] : []), ...others]);
    for (const run of [2, 3]) {
      await addFiles(cwd, { 'in/b.md': `${run}` });
      await plan(cwd);
      const [{ done } = {}] = await readItems(cwd, run);
      expect(done?.warnings).toEqual(warnings);
      await writeResults(cwd, await convertAll(cwd, { run }), run);
    }
    const cwdOfRetry = await makeTree(files);
    await plan(cwdOfRetry);
    await writeResults(
      cwdOfRetry,
      (await convertAll(cwdOfRetry, { fail: ['b.md'] })).map((each) => ({ ...each, warnings })),
    );
    await retry(cwdOfRetry);
    expect((await readItems(cwdOfRetry, 2)).map(({ done }) => done?.warnings)).toEqual([warnings, undefined, warnings]);
  });

  it('treats a source that was only touched or copied as the same, and one with other bytes as changed', async () => {
    const cwd = await convertedTree();
    await utimes(path.join(cwd, 'in/a.md'), 1000, 1000);
    await writeFile(path.join(cwd, 'in/copy'), 'bb');
    await rename(path.join(cwd, 'in/copy'), path.join(cwd, 'in/b.md'));
    await writeFile(path.join(cwd, 'in/c.md'), 'CCC');
    expect(await plan(cwd)).toMatchObject({ done: 2, todo: 1 });
    expect(await todoOf(cwd)).toEqual([['c.md', true]]);
  });

  it('does not read a source again if its stamp is the same', async () => {
    const cwd = await makeTree(files);
    await plan(cwd);
    const results = await convertAll(cwd);
    // A wrong hash, so that reading the content would show as a change.
    await writeResults(
      cwd,
      results.map((result) => ({
        ...result,
        ...(result.source && { source: { ...result.source, sha256: sha256('') } }),
      })),
    );
    expect(await plan(cwd)).toMatchObject({ done: 3, todo: 0 });
  });

  it('converts again with other options', async () => {
    const cwd = await convertedTree();
    const what = { sources: ['in'], to: 'pdf', input: 'md-gfm' };
    expect(await plan(cwd, { what })).toMatchObject({ done: 0, todo: 3, replaced: 3 });
    const other = { sources: ['in'], to: 'pdf', parameters: { dpi: 300 } };
    expect(await plan(cwd, { what: other })).toMatchObject({ done: 0, todo: 3, replaced: 3 });
  });

  it('reports results that are gone or have another size, and never replaces a file that a person put there', async () => {
    const cwd = await convertedTree();
    await rm(path.join(cwd, 'out/a.pdf'));
    await mkdir(path.join(cwd, 'out/a.pdf'));
    await writeFile(path.join(cwd, 'out/b.pdf'), 'a text of my own');
    // The same size as the result had, and its source has changed.
    await writeFile(path.join(cwd, 'out/c.pdf'), 'my text ok');
    await addFiles(cwd, { 'in/c.md': 'CCCC' });
    const planned = await plan(cwd);
    const counts = { done: 2, missing: { count: 2 }, todo: 1, replaced: 0, existing: { count: 1 } };
    expect(planned).toMatchObject(counts);
    expect(messagesOf(planned.warnings)).toEqual([
      `${path.join(cwd, 'out/a.pdf')} is a folder. The item of in/a.md will fail, unless it was converted before or gets another name.`,
    ]);
    expect(await todoOf(cwd)).toEqual([['c.md', undefined]]);
  });

  it('takes up failed and unfinished rows again', async () => {
    const cwd = await makeTree(files);
    await plan(cwd);
    const results = await convertAll(cwd, { fail: ['b.md'] });
    await rm(path.join(cwd, 'out/c.pdf'));
    await writeParts(cwd, results.slice(0, 2));
    expect(await plan(cwd)).toMatchObject({ done: 1, todo: 2 });
    expect(await todoOf(cwd)).toEqual([
      ['b.md', undefined],
      ['c.md', undefined],
    ]);
  });

  it('still replaces a result of the run before last if the last one failed to', async () => {
    const cwd = await convertedTree();
    await addFiles(cwd, { 'in/b.md': 'BB' });
    for (const run of [2, 3]) {
      await plan(cwd);
      expect(await todoOf(cwd, run)).toEqual([['b.md', true]]);
      await writeResults(cwd, await convertAll(cwd, { run, fail: ['b.md'] }), run);
    }
    await addFiles(cwd, { 'in/b.md': 'bb' });
    expect(await plan(cwd)).toMatchObject({ done: 3, todo: 0 });
  });

  it('remembers rows that the last run left out', async () => {
    const cwd = await convertedTree();
    await addFiles(cwd, { 'in/b.md': 'BB', 'in/d.md': 'd' });
    const what = { sources: ['in'], to: 'pdf', exclude: ['a.*', 'b.*'] };
    expect(await plan(cwd, { what })).toMatchObject({ done: 1, todo: 1 });
    await writeResults(cwd, await convertAll(cwd, { run: 2 }), 2);
    expect(await plan(cwd)).toMatchObject({ done: 3, todo: 1, replaced: 1, existing: { count: 0 } });
  });

  it('counts a renamed result as done, and replaces nothing for it', async () => {
    const cwd = await makeTree({ ...files, 'out/a (1).pdf': 'pdf of a' });
    await plan(cwd);
    const results = await convertAll(cwd);
    const output = results[0]?.output;
    if (!output) throw new Error('a.md was not converted');
    output.uri = output.uri.replace('a.pdf', 'a%20(1).pdf');
    await writeResults(cwd, results);
    expect(await plan(cwd)).toMatchObject({ done: 3 });
    await addFiles(cwd, { 'in/a.md': 'A' });
    await plan(cwd);
    expect(await todoOf(cwd)).toEqual([['a.md', undefined]]);
  });

  it('does not treat its own results beside the sources as sources', async () => {
    const cwd = await makeTree(files);
    const inPlace = { out: folderUri(cwd, 'in') };
    await plan(cwd, inPlace);
    await writeResults(cwd, await convertAll(cwd));
    expect(await plan(cwd, inPlace)).toMatchObject({
      done: 3,
      todo: 0,
      leftOut: { ownResults: 3 },
      problems: { count: 0 },
    });
  });

  it('continues from a run whose planning was interrupted', async () => {
    const cwd = await convertedTree();
    await addFiles(cwd, { '.batch/run-0002/.manifest.jsonl.part': '{"item":1', 'in/a.md': 'A' });
    expect(await plan(cwd)).toMatchObject({ run: { number: 2 }, done: 2, todo: 1, replaced: 1 });
  });
});

describe('results that a killed worker left', () => {
  const part = (cwd: string, number: number) => path.join(runFolder(cwd, 1), 'parts', `00000${number}.jsonl`);

  it('count except for a torn last line of any part', async () => {
    const cwd = await convertedTree(writeParts);
    const { length } = await readFile(part(cwd, 1));
    await truncate(part(cwd, 1), length - 20);
    await appendFile(part(cwd, 2), '\0\0\0');
    expect(await plan(cwd)).toMatchObject({ done: 2, todo: 1 });
    expect((await todoOf(cwd)).map(([name]) => name)).toEqual(['b.md']);
  });

  it('count including a last line that lacks only its line feed', async () => {
    const cwd = await convertedTree(writeParts);
    const { length } = await readFile(part(cwd, 1));
    await truncate(part(cwd, 1), length - 1);
    expect(await plan(cwd)).toMatchObject({ done: 3 });
  });

  it('count as the last entry of each item says', async () => {
    const cwd = await makeTree(files);
    await plan(cwd);
    const results = await convertAll(cwd);
    await writeParts(cwd, [...results.map(({ item }) => ({ item, status: 'failed' as const })), ...results]);
    expect(await plan(cwd)).toMatchObject({ done: 3 });
  });

  it.each([
    ['is no JSON', 'garbage\n'],
    ['is no result', '{"item":"one","status":"succeeded"}\n'],
  ])('cause an error with file, line and advice if a line in the middle %s', async (_, line) => {
    const cwd = await convertedTree(writeParts);
    const content = await readFile(part(cwd, 1), 'utf8');
    await writeFile(part(cwd, 1), line + content);
    const error: unknown = await plan(cwd).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(RunFileError);
    expect(String(error)).toContain(`${part(cwd, 1)} line 1 is damaged: `);
    expect(String(error)).toContain(`Restore it; or move ${runFolder(cwd, 1)} out of the batch's folder`);
  });

  it('cause an error if the manifest or the merged results are torn, since those are written atomically', async () => {
    for (const name of ['manifest.jsonl', 'results.jsonl']) {
      const cwd = await convertedTree();
      const file = path.join(runFolder(cwd, 1), name);
      await truncate(file, (await readFile(file)).length - 10);
      await expect(plan(cwd)).rejects.toThrow(`${file} line 3 is damaged`);
    }
  });
});
