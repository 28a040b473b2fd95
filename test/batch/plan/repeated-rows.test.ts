import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { withoutJob } from '../../../src/batch/batch-steps';
import type { AskPair } from '../../../src/batch/plan/settle-row';
import type { PlanBatchOptions } from '../../../src/batch/plan/plan-batch';
import type { BatchItem } from '../../../src/batch/model/types';
import type { BatchItemResult } from '../../../src/batch/model/state';
import { addFiles, makeTree } from '../folder';
import { convertAll, plan, readItems, sha256, writeParts, writeResults, retry } from './planning';

/** Plans with rows that an earlier run may have been charged for. */

const files = { 'in/a.md': 'a', 'in/b.md': 'bb' };
const source = { bytes: 1, sha256: sha256('a') };
const job = { workflowId: 'job-of-a', runId: 'run-of-1' };

/** A batch whose first run ended this way for `a.md`, and converted the other file. */
async function endedWith(first: Partial<BatchItemResult>, write = writeResults): Promise<string> {
  const cwd = await makeTree(files);
  await plan(cwd);
  const [, second] = await convertAll(cwd);
  await rm(path.join(cwd, 'out/a.pdf'));
  await write(cwd, [{ item: 1, status: 'failed', ...first }, ...(second ? [second] : [])]);
  return cwd;
}

const withFirst = ([first, ...others]: BatchItemResult[], change: Partial<BatchItemResult>): BatchItemResult[] =>
  first ? [{ ...first, ...change }, ...others] : [];

const itemOf = async (cwd: string, name: string, run = 2): Promise<BatchItem | undefined> =>
  (await readItems(cwd, run)).find((item) => item.source.endsWith(`/${name}`));

const accepted = { ...job, code: 'DESTINATION_EXISTS', charge: 'yes', taskId: 'task-1', source } as const;
const unknown = { ...job, code: 'OUTCOME_UNKNOWN', message: 'cut', charge: 'maybe', source } as const;

describe.each(['run', 'retry'] as const)('batch %s', (command) => {
  const again = (
    cwd: string,
    options: Partial<Pick<PlanBatchOptions, 'onUnknownOutcome' | 'again' | 'ask' | 'what'>> = {},
  ) => (command === 'run' ? plan(cwd, options) : retry(cwd, options));

  it('fetches an accepted task of the same content', async () => {
    const cwd = await endedWith(accepted);
    expect(await again(cwd, { onUnknownOutcome: 'fail' })).toMatchObject({ todo: 1, kept: 0, done: 1 });
    expect(await itemOf(cwd, 'a.md')).toMatchObject({ earlier: { charge: 'yes', taskId: 'task-1', source } });
  });

  it.each(['gone', 'empty'])(
    'fetches an accepted task even if its source is %s, and fails a row without one',
    async (how) => {
      for (const ended of [accepted, { ...job, code: 'INVALID_FILE', charge: 'no', source } as const]) {
        const cwd = await endedWith(ended);
        if (how === 'gone') await rm(path.join(cwd, 'in/a.md'));
        else await writeFile(path.join(cwd, 'in/a.md'), '');
        const { todo, bad } = await again(
          cwd,
          command === 'run' ? { what: { sources: ['in/a.md', 'in/b.md'], to: 'pdf' } } : {},
        );
        expect([todo, bad]).toEqual(ended === accepted ? [1, 0] : [0, 1]);
      }
    },
  );

  it('converts content other than the accepted one, or everything on request, with a mark', async () => {
    for (const all of [false, true]) {
      const cwd = await endedWith(accepted);
      if (!all) await writeFile(path.join(cwd, 'in/a.md'), 'A');
      await again(cwd, { onUnknownOutcome: 'fail', again: all });
      const known = { charge: 'maybe', ...(all && { source }), runId: job.runId };
      expect((await itemOf(cwd, 'a.md'))?.earlier).toEqual(known);
    }
  });

  it('keeps an unknown outcome under policy fail, with its old result but without its cost', async () => {
    const cwd = await endedWith({ ...unknown, requests: 4, vcredits: 1, startedAt: 1, durationMs: 2 });
    const planned = await again(cwd, { onUnknownOutcome: 'fail' });
    expect(planned).toMatchObject({ todo: 0, kept: 1, done: 1, run: { number: 2 } });
    expect((await itemOf(cwd, 'a.md'))?.kept).toEqual({ status: 'failed', ...unknown });
  });

  it('converts an unknown outcome under policy resubmit with a mark, and an uncharged one without', async () => {
    const cwd = await endedWith(unknown);
    await again(cwd);
    expect((await itemOf(cwd, 'a.md'))?.earlier).toEqual({ charge: 'maybe', source, runId: job.runId });
    const free = await endedWith({ ...job, code: 'INVALID_FILE', charge: 'no', source });
    await again(free, { onUnknownOutcome: 'fail' });
    expect(await itemOf(free, 'a.md')).not.toHaveProperty('earlier');
  });

  it('treats a row without information as possibly charged, and a row without a job as not charged', async () => {
    const cwd = await endedWith({ ...job, code: 'OUTCOME_UNKNOWN' });
    expect(await again(cwd, { onUnknownOutcome: 'fail' })).toMatchObject({ kept: 1 });
    const never = await endedWith({ status: 'cancelled' });
    expect(await again(never, { onUnknownOutcome: 'fail' })).toMatchObject({ kept: 0, todo: 1 });
    expect(await itemOf(never, 'a.md')).not.toHaveProperty('earlier');
  });

  it('marks rows that the service refuses beforehand, but none with a possible charge', async () => {
    const refusal = { code: 'NO_CONVERTER_INPUT_TO_OUTPUT', message: 'The service does not convert md to pdf.' };
    const ask: AskPair = ({ extension }) => Promise.resolve(extension === 'md' ? refusal : undefined);
    const free = await makeTree({ ...files, 'in/c.txt': 'c' });
    await plan(free);
    const ended = await convertAll(free, { fail: ['a.md', 'c.txt'] });
    const failed = { ...job, code: 'INVALID_FILE', charge: 'no', source } as const;
    await writeResults(
      free,
      ended.map((each) => (each.status === 'failed' ? { ...each, ...failed } : each)),
    );
    expect(await again(free, { ask })).toMatchObject({
      ...{ rows: 3, done: 1, todo: 1, formats: [{ input: 'txt', rows: 1 }] },
      refused: [{ extension: 'md', input: 'md', output: 'pdf', rows: 1, refusal }],
    });
    expect(await itemOf(free, 'a.md')).toMatchObject({ refused: refusal });
    expect(await itemOf(free, 'c.txt')).not.toHaveProperty('refused');
    expect(await again(await endedWith(accepted), { ask })).toMatchObject({ done: 1, todo: 1, refused: [] });
  });

  it('keeps the mark of a row that is converted again, and of one that is done', async () => {
    const cwd = await endedWith({ ...job, charge: 'no', source, possiblyChargedTwice: true, possiblyChargedExtra: 2 });
    await again(cwd);
    expect((await itemOf(cwd, 'a.md'))?.earlier).toEqual({ charge: 'no', possiblyChargedExtra: 2, runId: job.runId });
    const mark = { possiblyChargedTwice: true, possiblyChargedExtra: 2 };
    await writeResults(cwd, withFirst(await convertAll(cwd, { run: 2 }), mark), 2);
    await addFiles(cwd, { 'in/c.md': 'c' });
    await plan(cwd);
    expect((await itemOf(cwd, 'a.md', 3))?.done).toMatchObject(mark);
  });

  it('continues from a run that did nothing as from the one before it', async () => {
    const cwd = await endedWith(accepted);
    await again(cwd);
    await again(cwd);
    expect((await itemOf(cwd, 'a.md', 3))?.earlier).toMatchObject({ charge: 'yes', taskId: 'task-1' });
    expect((await itemOf(cwd, 'b.md', 3))?.done).toBeDefined();
  });
});

it('counts a delivered result as done whatever became of it, and reports one that is gone', async () => {
  const cwd = await makeTree(files);
  await plan(cwd);
  await writeResults(cwd, withFirst(await convertAll(cwd), { taskId: 'task-1', charge: 'yes' }));
  await rm(path.join(cwd, 'out/a.pdf'));
  for (const onUnknownOutcome of ['fail', 'resubmit'] as const) {
    const planned = await plan(cwd, { onUnknownOutcome });
    expect(planned).toMatchObject({ todo: 0, done: 2, missing: { count: 1 } });
    expect(planned.missing.listed[0]?.message).toContain(path.join(cwd, 'out/a.pdf'));
  }
  expect(await plan(cwd, { again: true })).toMatchObject({ todo: 2, replaced: 1 });
  expect(await itemOf(cwd, 'a.md')).not.toHaveProperty('earlier');
});

it('replaces its own result of other content by the accepted task of the new content', async () => {
  const cwd = await makeTree(files);
  await plan(cwd);
  await writeResults(cwd, await convertAll(cwd));
  await writeFile(path.join(cwd, 'in/a.md'), 'A');
  await plan(cwd);
  const row = { item: 1, status: 'failed', ...accepted, source: { bytes: 1, sha256: sha256('A') } } as const;
  await writeResults(cwd, [row, { item: 2, status: 'skipped' }], 2);
  await plan(cwd);
  // The stamp is included, so that the file need not be read again.
  const replaces = { bytes: 8, sha256: sha256('pdf of a'), stamp: expect.any(String) as unknown };
  expect(await itemOf(cwd, 'a.md', 3)).toMatchObject({ replaces, earlier: { taskId: 'task-1' } });
});

describe.each([
  ['done with its older content', 'a', accepted, 'A', { earlier: { taskId: 'task-1' } }],
  ['kept', 'A', unknown, 'a', { done: { source } }],
] as const)('a run in which a row is %s', (_how, third, ended, fourth, expected) => {
  it('forgets neither the result nor the later conversion', async () => {
    const cwd = await makeTree(files);
    await plan(cwd);
    await writeResults(cwd, await convertAll(cwd));
    await writeFile(path.join(cwd, 'in/a.md'), 'A');
    await plan(cwd);
    const row = { item: 1, status: 'failed', ...ended, source: { bytes: 1, sha256: sha256('A') } } as const;
    await writeResults(cwd, [row, { item: 2, status: 'skipped' }], 2);
    for (const [run, content] of [
      [3, third],
      [4, fourth],
    ] as const) {
      await writeFile(path.join(cwd, 'in/a.md'), content);
      // Without something to convert, no run would be made.
      await addFiles(cwd, { [`in/${run}.md`]: 'new' });
      await plan(cwd, { onUnknownOutcome: 'fail' });
      await writeResults(cwd, (await readItems(cwd, run)).map(withoutJob), run);
    }
    expect(await itemOf(cwd, 'a.md', 4)).toMatchObject(expected);
  });
});

it.each(['skipped', 'succeeded'] as const)(
  'remembers an unknown outcome whose options have changed, if the job of another caller has delivered: %s',
  async (status) => {
    const cwd = await endedWith(unknown);
    const other = { sources: ['in'], to: 'pdf', parameters: { dpi: 96 } };
    await plan(cwd, { what: other });
    await writeResults(cwd, withFirst(await convertAll(cwd, { run: 2 }), { ...job, status, taskId: 'task-2' }), 2);
    expect(await plan(cwd, { what: other, mayBeDone: true })).toMatchObject({ done: 2, todo: 0 });
    await writeResults(cwd, await convertAll(cwd, { run: 3 }), 3);
    expect(await plan(cwd, { onUnknownOutcome: 'fail' })).toMatchObject({ kept: 1 });
  },
);

it('converts new content, marked, after a run that was planned with an unknown outcome and ended without a result', async () => {
  const cwd = await endedWith(unknown);
  await plan(cwd);
  expect(await plan(cwd, { onUnknownOutcome: 'fail' })).toMatchObject({ kept: 1, todo: 0, run: { number: 3 } });
  await addFiles(cwd, { 'in/a.md': 'new' });
  expect(await plan(cwd, { onUnknownOutcome: 'fail' })).toMatchObject({ kept: 0, todo: 1 });
  expect(await itemOf(cwd, 'a.md', 4)).toMatchObject({ earlier: { charge: 'maybe' } });
});

describe('rows that a run is planned without', () => {
  const without = { sources: ['in'], to: 'pdf', exclude: ['a.*'] };

  it('are known to the next run that has them, after any number of runs', async () => {
    const cwd = await endedWith(accepted);
    for (const name of ['c.md', 'd.md']) {
      await addFiles(cwd, { [`in/${name}`]: name });
      await plan(cwd, { what: without });
    }
    await plan(cwd);
    expect((await itemOf(cwd, 'a.md', 4))?.earlier).toMatchObject({ taskId: 'task-1' });
  });

  it('keep the parameters that they were converted with', async () => {
    const cwd = await makeTree(files);
    const converting = (dpi: number) => ({ sources: ['in'], to: 'pdf', parameters: { dpi } });
    await plan(cwd, { what: converting(300) });
    await writeResults(cwd, [
      { item: 1, status: 'failed', ...accepted },
      { item: 2, status: 'cancelled' },
    ]);
    await addFiles(cwd, { 'in/c.md': 'c' });
    await plan(cwd, { what: { ...converting(300), exclude: ['a.*'] } });
    await addFiles(cwd, { 'in/d.md': 'd' });
    await plan(cwd, { what: converting(300) });
    expect((await itemOf(cwd, 'a.md', 3))?.earlier).toMatchObject({ taskId: 'task-1' });
    await plan(cwd, { what: { ...converting(300), exclude: ['a.*'] } });
    await plan(cwd, { what: converting(72) });
    expect((await itemOf(cwd, 'a.md', 5))?.earlier).toEqual({ charge: 'maybe', runId: job.runId });
  });
});

it('a row of a part that was never merged counts like a merged one', async () => {
  const cwd = await endedWith(unknown, writeParts);
  expect(await plan(cwd, { onUnknownOutcome: 'fail' })).toMatchObject({ kept: 1, done: 1, todo: 0 });
});
