import { readdir, readFile, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { readRequest } from '../../src/batch/request';
import { defined } from '../../src/job/defined';
import { createLocalFiles } from '../../src/storage/local-files';
import { quickPolicies } from '../support/conversion-worker';
import { MemoryFiles } from '../support/memory-files';
import { answerError } from '../support/stub-service';
import { counts, sweepsOfEachTest } from '../support/sweeping';
import { until } from '../support/until';

const { rig, schedule, put, sweep } = sweepsOfEachTest({ stores: { memory: new MemoryFiles() } });
const place = (...names: string[]) => path.join(rig.folder, ...names);
const moving = (change: Parameters<typeof schedule>[0] = {}) =>
  schedule({ recursive: true, moveDoneTo: place('done'), moveFailedTo: place('failed'), ...change });
/** The files in each of the three folders. */
async function where() {
  const filesBelow = async (folder: string) => {
    const found = await readdir(place(folder), { recursive: true, withFileTypes: true }).catch(() => []);
    const files = found.filter((each) => each.isFile());
    return files.map(({ parentPath, name }) => path.relative(place(folder), path.join(parentPath, name))).sort();
  };
  return { in: await filesBelow('in'), done: await filesBelow('done'), failed: await filesBelow('failed') };
}

beforeEach(() => {
  rig.stub.on('convert/file', (seen, response, stub) => {
    if (stub.fileOf(seen) === 'bad.md') answerError(response, 200, 'FAILED_CONVERT');
    else stub.answerAsAlways(seen, response);
  });
});

describe('a hot folder', () => {
  it('is empty after a sweep: converted files are in done, and failed files are in failed with the reason beside them', async () => {
    await put('a.md', '# A');
    await put('deep/b.md', '# B');
    await put('deep/bad.md', 'damaged');
    await put('empty.md', '');
    const long = 'é'.repeat(124);
    await put(`${long}.md`, '');
    const name = await moving();
    expect(await sweep(name)).toMatchObject({ status: 'completed', ...counts, succeeded: 2, failed: 3 });
    const short = `${long.slice(4)}.md`;
    expect(await where()).toEqual({
      in: [],
      done: ['a.md', 'deep/b.md'],
      failed: [
        ...['deep/bad.md', 'deep/bad.md.reason.txt', 'empty.md', 'empty.md.reason.txt'],
        ...[short, `${short}.reason.txt`],
      ],
    });
    const reason = await readFile(place('failed', 'deep', 'bad.md.reason.txt'), 'utf8');
    expect(reason).toContain('bad.md was not converted to pdf.\n\nFAILED_CONVERT: ');
    expect(reason).toContain(`To try again: fileconv batch retry ${name}\nName: bad.md\n`);
    expect(await sweep(name)).toMatchObject({ status: 'completed', ...counts });
    expect(rig.stub.conversions.size).toBe(2);
  });

  it('takes the same file again without paying for it, and replaces nothing in done', async () => {
    await put('a.md', '# A');
    const name = await moving();
    await sweep(name);
    await put('a.md', '# A');
    expect(await sweep(name)).toMatchObject({ ...counts, skipped: 1 });
    expect(await where()).toEqual({ in: [], done: ['a (1).md', 'a.md'], failed: [] });
    await put('a.md', '# Another');
    expect(await sweep(name)).toMatchObject({ ...counts, succeeded: 1 });
    expect(await where()).toEqual({ in: [], done: ['a (1).md', 'a (2).md', 'a.md'], failed: [] });
    expect(await readFile(place('done', 'a (2).md'), 'utf8')).toBe('# Another');
    expect(rig.stub.conversions.size).toBe(2);
    // The source of a missing result is not moved: nobody would find its result in `out`.
    await put('a.md', '# Another');
    await rm(place('out'), { recursive: true });
    expect(await sweep(name)).toMatchObject({ ...counts, skipped: 1, missing: 1 });
    expect((await where()).in).toEqual(['a.md']);
  });

  it('keeps a file that was replaced during its conversion, and takes it next time', async () => {
    await put('a.md', '# A');
    await put('bad.md', 'damaged');
    const name = await moving();
    const hold = rig.stub.hold();
    const first = sweep(name);
    await until('both are with the service', () => rig.stub.count('convert/file') === 2);
    for (const file of ['a.md', 'bad.md']) {
      await writeFile(place('new'), `# New ${file}`);
      await rename(place('new'), place('in', file));
    }
    hold.letGo();
    expect(await first).toMatchObject({ ...counts, succeeded: 1, failed: 1 });
    expect(await where()).toEqual({ in: ['a.md', 'bad.md'], done: [], failed: [] });
    await sweep(name);
    expect(await where()).toEqual({ in: [], done: ['a.md'], failed: ['bad.md', 'bad.md.reason.txt'] });
    expect(await readFile(place('done', 'a.md'), 'utf8')).toBe('# New a.md');
  });

  it('takes a repaired file again with a retry, and leaves a new file of a failed name while it may grow', async () => {
    for (const file of ['a.md', 'b.md'])
      await utimes(await put(file, ''), new Date('2026-01-01'), new Date('2026-01-01'));
    const name = await moving({ settledForMs: 24 * 3600_000 });
    expect(await sweep(name)).toMatchObject({ ...counts, failed: 2 });
    await writeFile(place('failed', 'a.md'), '# Repaired');
    await put('b.md', '# Half of it');
    const request = (await readRequest(createLocalFiles(), pathToFileURL(`${place('batches', name)}/`).href))?.request;
    const plan = request?.plan?.moves && { ...request.plan, moves: { ...request.plan.moves, restores: true as const } };
    await rig.client.startPlanned(name, { app: 'stub', ...defined({ plan }), policies: quickPolicies });
    expect(await rig.client.getBatch(name).result()).toMatchObject({
      ...counts,
      succeeded: 1,
      planned: { unsettled: 1 },
    });
    expect(await where()).toEqual({ in: ['b.md'], done: ['a.md'], failed: ['b.md', 'b.md.reason.txt'] });
  });

  it('keeps a file that may have been charged until a person decides', async () => {
    await put('a.md', '# A');
    rig.stub.loseSubmits();
    const name = await moving({ policies: { ...quickPolicies, onUnknownOutcome: 'fail' } });
    for (const kept of [0, 1]) {
      expect(await sweep(name)).toMatchObject({ ...counts, failed: 1, kept });
      expect(await where()).toEqual({ in: ['a.md'], done: [], failed: [] });
    }
  });

  it('does not replace the result of a finished source with that of another one', async () => {
    await put('a.md', '# A');
    const name = await moving();
    await sweep(name);
    await put('a.txt', 'Another');
    expect(await sweep(name)).toMatchObject({ ...counts, failed: 1, failures: { DESTINATION_TAKEN: 1 } });
    expect(await where()).toEqual({ in: [], done: ['a.md'], failed: ['a.txt', 'a.txt.reason.txt'] });
    expect(await readFile(place('failed', 'a.txt.reason.txt'), 'utf8')).toContain('which is the result of a.md.');
    expect(rig.stub.conversions.size).toBe(1);
    // As if somebody had fetched the result.
    await rm(place('out'), { recursive: true });
    await rename(place('failed', 'a.txt'), place('in', 'a.txt'));
    expect(await sweep(name)).toMatchObject({ ...counts, succeeded: 1 });
    expect((await where()).done).toEqual(['a.md', 'a.txt']);
  });

  it('converts nothing twice if the done folder lies inside it under another name', async () => {
    await symlink('in', place('link'));
    await put('a.md', '# A');
    const name = await moving({ from: place('link'), moveDoneTo: place('in', 'done') });
    expect(await sweep(name)).toMatchObject({ ...counts, succeeded: 1 });
    expect(await sweep(name)).toMatchObject(counts);
    expect([(await where()).in, rig.stub.conversions.size]).toEqual([['done/a.md'], 1]);
  });

  it('may move failures only, and may contain its own target folders', async () => {
    await put('a.md', '# A');
    await put('bad.md', 'damaged');
    const name = await schedule({ recursive: true, moveFailedTo: place('in', 'failed') });
    expect(await sweep(name)).toMatchObject({ ...counts, succeeded: 1, failed: 1 });
    expect((await where()).in).toEqual(['a.md', 'failed/bad.md', 'failed/bad.md.reason.txt']);
    expect(await sweep(name)).toMatchObject({ ...counts, skipped: 1 });
  });
});

it("a file that can't be moved stays, is reported, and is moved by the next sweep", async () => {
  await put('a.md', '# A');
  await writeFile(place('done'), 'in the way');
  const name = await moving();
  const { unmoved } = await sweep(name);
  expect(unmoved).toMatchObject({ files: 1, why: expect.stringContaining('not a folder') as string });
  expect((await where()).in).toEqual(['a.md']);
  await rm(place('done'));
  expect(await sweep(name)).toMatchObject({ ...counts, skipped: 1 });
  expect([await where(), rig.stub.conversions.size]).toEqual([{ in: [], done: ['a.md'], failed: [] }, 1]);
});

it("a sweep fails before it converts anything if its store can't move files, and says what to do", async () => {
  const at = (folder: string) => `memory:///${folder}/`;
  const name = await schedule({ from: at('in'), out: at('out'), batchFolder: at('runs'), moveDoneTo: at('done') });
  const problem = expect.stringMatching(
    /^Files can't be moved from .*in\/ to .*done\/: .*Make the schedule again/,
  ) as unknown;
  await expect(sweep(name)).rejects.toMatchObject({ cause: { message: problem } });
  expect(rig.stub.requests).toHaveLength(0);
});
