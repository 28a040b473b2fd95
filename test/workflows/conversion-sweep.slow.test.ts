import { appendFile, mkdir, readdir, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { CancelledFailure, WorkflowFailedError } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { FileConversionPlugin } from '../../src/plugin';
import { createConversionWorker } from '../../src/worker';
import { presentation } from '../protection/made-files';
import { planRun, startRun } from '../support/batches';
import { inThisThread, quickPolicies } from '../support/conversion-worker';
import { chargeProblems, conversionsOf } from '../support/invariant';
import { resetWorkflow, type ResetPoint } from '../support/reset';
import { answerCompleted, answerError, answerOutput } from '../support/stub-service';
import { counts, sweepsOfEachTest } from '../support/sweeping';
import { testTemporalAddress } from '../support/temporal';
import { until } from '../support/until';

const { rig, schedules, schedule, put, sweepsOf, sweep } = sweepsOfEachTest();
const outputs = async () => (await readdir(path.join(rig.folder, 'out'), { recursive: true })).sort();

describe('a sweep', () => {
  it('converts what is new or has changed content, and nothing else', async () => {
    await put('a.md', '# A\n');
    await put('deep/b.md', '# B\n');
    await put('draft.md', '# Draft\n');
    const name = await schedule({ recursive: true, exclude: ['draft*'] });
    expect(await sweep(name)).toMatchObject({ status: 'completed', ...counts, succeeded: 2 });
    expect(await outputs()).toEqual(['a.pdf', 'deep', path.join('deep', 'b.pdf')]);

    expect(await sweep(name)).toMatchObject({ status: 'completed', ...counts, skipped: 2 });
    expect(await runsOf(name)).toEqual(['run-0001']);

    await utimes(await put('a.md', '# A\n'), new Date('2026-01-01'), new Date('2026-01-01'));
    expect(await sweep(name)).toMatchObject({ ...counts, skipped: 2 });
    expect(rig.stub.count('convert/file')).toBe(2);

    await put('a.md', '# A, changed\n');
    await put('c.md', '# C\n');
    expect(await sweep(name)).toMatchObject({ status: 'completed', ...counts, succeeded: 2, skipped: 1 });
    expect(rig.stub.count('convert/file')).toBe(4);
    expect(await rig.client.getBatch(name).result()).toMatchObject({ succeeded: 2, skipped: 1 });
  });

  it('leaves out a file that is still being written, and takes it next time', async () => {
    await put('whole.md', '# Whole\n');
    const written = await put('growing.md', '# Growing\n');
    const writer = { isOpen: true };
    const writing = (async () => {
      while (writer.isOpen) {
        await appendFile(written, 'one more line\n');
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    })();
    // Long enough for the writer to write its next line on a busy machine.
    const name = await schedule({ settledForMs: 3_000 });
    await utimes(path.join(rig.folder, 'in', 'whole.md'), new Date('2026-01-01'), new Date('2026-01-01'));
    expect(await sweep(name)).toMatchObject({ ...counts, succeeded: 1, planned: { unsettled: 1 } });
    expect(await outputs()).toEqual(['whole.pdf']);
    writer.isOpen = false;
    await writing;
    await utimes(written, new Date('2026-01-01'), new Date('2026-01-01'));
    expect(await sweep(name)).toMatchObject({ ...counts, succeeded: 1, skipped: 1 });
    expect(await outputs()).toEqual(['growing.pdf', 'whole.pdf']);
  });

  it('ends at once in an empty folder, and fails with a clear code when the folder is missing', async () => {
    const name = await schedule();
    expect(await sweep(name)).toMatchObject({ status: 'completed', ...counts });
    await rm(path.join(rig.folder, 'in'), { recursive: true });
    const failure = await sweep(name).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(WorkflowFailedError);
    expect((failure as WorkflowFailedError).cause).toMatchObject({
      type: 'SOURCE_NOT_FOUND',
      message: expect.stringContaining('does not exist') as string,
    });
    const told = { code: 'SOURCE_NOT_FOUND', message: expect.stringContaining('does not exist') as string };
    expect(await schedules().lastSweep(name)).toEqual({ lastFailure: told });
    await until('the list tells of it', async () =>
      (await schedules().list()).some((each) => each.name === name && each.lastFailure?.code === told.code),
    );
    await mkdir(path.join(rig.folder, 'in'));
    await sweep(name);
    expect(await schedules().lastSweep(name)).toMatchObject({ lastResult: { status: 'completed' } });
  });

  it('converts the other files beside those that conflict, and fails the conflicting ones in every sweep', async () => {
    for (const name of ['one.md', 'one.txt', 'two.md', '.md']) await put(name, `# ${name}\n`);
    await symlink('nowhere', path.join(rig.folder, 'in', 'lost.md'));
    const name = await schedule();
    const both = expect.stringContaining('would both become') as unknown;
    const lost = expect.stringContaining('lost.md is a symbolic link that leads nowhere. It is left out.') as unknown;
    const told = { failed: 2, refused: 2, planned: { leftOut: 1, warnings: [lost, both, both] } };
    expect(await sweep(name)).toMatchObject({ ...counts, ...told, status: 'completed', succeeded: 1 });
    await put('three.md', '# Three\n');
    expect(await sweep(name)).toMatchObject({ ...counts, ...told, succeeded: 1, skipped: 1 });
    expect(await sweep(name)).toMatchObject({ ...counts, ...told, status: 'completed', skipped: 2 });
    expect(await outputs()).toEqual(['three.pdf', 'two.pdf']);
    expect(await schedules().lastSweep(name)).toMatchObject({ lastResult: told });
    expect(await detailsOfNewest(name)).toContain('Failures: `DESTINATION_TAKEN` 2');
    expect(await detailsOfNewest(name)).toContain("**Left out**: 1, which can't be read");
    await rm(path.join(rig.folder, 'in', 'one.txt'));
    expect(await sweep(name)).toMatchObject({ failed: 0, succeeded: 1 });
    for (const other of ['one.md', 'two.md', 'three.md', '.md']) await rm(path.join(rig.folder, 'in', other));
    await put('four.md', '');
    expect(await sweep(name)).toMatchObject({
      status: 'completed',
      ...counts,
      failed: 1,
      refused: 1,
      planned: { leftOut: 1 },
    });
  });

  it('does nothing while the batch is run by hand, and leaves no run behind', async () => {
    await put('a.md', '# A\n');
    const name = await schedule();
    const hold = rig.stub.hold();
    const batch = await startRun(rig.client, (await planRun(rig.folder, 1, { name })).request);
    expect(await sweep(name)).toEqual({ status: 'batchRunning' });
    expect(await readdir(rig.folder)).not.toContain('batches');
    hold.letGo();
    await batch.result();
    expect(await sweep(name)).toMatchObject({ succeeded: 1 });
  });

  it('begins anew when it is reset, whatever has become of its batch', async () => {
    await put('a.md', '# A\n');
    const name = await schedule();
    const hold = rig.stub.hold();
    const first = sweep(name).catch(() => undefined);
    await until('it converts', () => rig.stub.count('convert/file') === 1);
    const id = (await sweepsOf(name)).at(-1)?.workflowId ?? '';
    const resetTo = async (point: ResetPoint) => {
      await resetWorkflow(rig.temporal, id, point);
      return (await rig.temporal.workflow.getHandle(id).result()) as unknown;
    };
    expect(await resetTo('latest')).toEqual({ status: 'batchRunning' });
    hold.letGo();
    await Promise.all([first, rig.client.getBatch(name).result()]);
    for (const point of ['latest', 'start', 0.9] as const)
      expect(await resetTo(point)).toMatchObject({ status: 'completed', ...counts, skipped: 1 });
    expect(rig.stub.conversions.size).toBe(1);
  });

  it('begins nothing when it is cancelled before its first step after a reset', async () => {
    const name = await schedule();
    await sweep(name);
    const id = (await sweepsOf(name)).at(-1)?.workflowId ?? '';
    await rig.stopWorker();
    const runId = await resetWorkflow(rig.temporal, id, 'start');
    const reset = rig.temporal.workflow.getHandle(id, runId, { followRuns: false });
    await reset.cancel();
    const connection = await NativeConnection.connect({ address: testTemporalAddress() });
    const { taskQueue } = rig;
    const plugin = new FileConversionPlugin({ apps: {} });
    const worker = await inThisThread(() => createConversionWorker({ connection, plugin, taskQueue }));
    const failure: unknown = await worker.runUntil(reset.result().catch((error: unknown) => error));
    await connection.close();
    expect(failure).toMatchObject({ cause: expect.any(CancelledFailure) as unknown });
  });

  it('makes no more runs once its vCredits are spent, and says how many files wait for more', async () => {
    await put('a.md', '# A\n');
    const name = await schedule({ maxVcredits: 1 });
    expect(await sweep(name)).toMatchObject({ status: 'completed', ...counts, succeeded: 1 });
    await put('b.md', '# B\n');
    for (let again = 0; again < 2; again += 1) {
      expect(await sweep(name)).toMatchObject({ status: 'budget', ...counts, skipped: 1, cancelled: 1 });
    }
    expect(await runsOf(name)).toEqual(['run-0001']);
    expect(rig.stub.count('convert/file')).toBe(1);
  });

  it('never pays again for unchanged files, even if their results and the tasks at the service are gone', async () => {
    for (const file of ['a.md', 'b.md']) await put(file, `# ${file}\n`);
    const name = await schedule();
    expect(await sweep(name)).toMatchObject({ ...counts, succeeded: 2 });
    rig.stub.fail('task/response', 404, 'NO_CONNECTOR_DEPENDENT_TASK');
    const requestsOf = () => rig.stub.requests.filter(({ path: asked }) => !asked.startsWith('convert/')).length;
    const requests = requestsOf();
    for (let day = 2; day <= 7; day += 1) {
      await rm(path.join(rig.folder, 'out'), { recursive: true, force: true });
      const swept = await sweep(name);
      expect(swept).toMatchObject({ ...counts, skipped: 2, missing: 2 });
      expect(swept.planned?.warnings.join()).toContain('is not there any more');
    }
    expect(rig.stub.conversions.size).toBe(2);
    expect(requestsOf()).toBe(requests);
  });
});

describe("a file that can't be converted", () => {
  const uploads = (file: string) =>
    rig.stub.requests.filter(({ path, body }) => path === 'upload/file' && body.includes(`"${file}"`)).length;

  beforeEach(async () => {
    rig.stub.on('convert/file', (seen, response, stub) => {
      if (stub.fileOf(seen) === 'bad.md') answerError(response, 200, 'FAILED_CONVERT');
      else stub.answerAsAlways(seen, response);
    });
    await put('bad.md', 'damaged');
  });

  it('is uploaded in three of 24 sweeps, whatever else they convert, and again when its content changes', async () => {
    await put('good.md', '# Good');
    const name = await schedule();
    expect(await sweep(name)).toMatchObject({ ...counts, succeeded: 1, failed: 1 });
    // A refusal may be temporary, so it takes three of them to give up on a file.
    for (let again = 2; again <= 3; again += 1)
      expect(await sweep(name)).toMatchObject({ ...counts, failed: 1, skipped: 1 });
    for (let again = 4; again <= 24; again += 1) {
      if (again === 12)
        await utimes(path.join(rig.folder, 'in', 'bad.md'), new Date('2026-01-01'), new Date('2026-01-01'));
      const isNew = again % 8 === 0;
      if (isNew) await put(`good-${again}.md`, '# Good');
      const skipped = 1 + Math.ceil(again / 8) - 1;
      const swept = { ...counts, succeeded: Number(isNew), failed: 1, refused: 1, skipped };
      expect(await sweep(name)).toMatchObject(swept);
    }
    expect(uploads('bad.md')).toBe(3);
    expect(await rig.client.getBatch(name).result()).toMatchObject({ failed: 1, refused: 1, succeeded: 1 });
    await put('bad.md', 'damaged in another way');
    expect(await sweep(name)).toMatchObject({ failed: 1 });
    expect(uploads('bad.md')).toBe(4);
  });

  it('is uploaded again when its name gets the right extension', async () => {
    const name = await schedule();
    for (let again = 1; again <= 3; again += 1) expect(await sweep(name)).toMatchObject({ ...counts, failed: 1 });
    const file = path.join(rig.folder, 'in', 'bad.');
    await rename(`${file}md`, `${file}html`);
    expect(await sweep(name)).toMatchObject({ ...counts, succeeded: 1 });
  });

  it('is inspected once if it is password-protected, and again when it has changed', async () => {
    const name = await schedule();
    const locked = { ...counts, failed: 1, failures: { SOURCE_PROTECTED: 1 } };
    for (const refused of [undefined, 1, undefined]) {
      if (refused === undefined) await put('bad.md', presentation('secret'));
      const swept = await sweep(name);
      expect(swept).toMatchObject(locked);
      expect(swept.refused).toBe(refused);
    }
    expect(uploads('bad.md')).toBe(0);
  });

  it('is not converted again when it is replaced by what was converted before', async () => {
    rig.stub.asAlways('convert/file');
    const name = await schedule();
    expect(await sweep(name)).toMatchObject({ ...counts, succeeded: 1 });
    await put('bad.md', presentation('secret'));
    expect(await sweep(name)).toMatchObject({ ...counts, failed: 1 });
    // Without something to convert, no run would be made, and the ledger would stay as it is.
    await put('good.md', '# Good');
    expect(await sweep(name)).toMatchObject({ ...counts, succeeded: 1, failed: 1, refused: 1 });
    await put('bad.md', 'damaged');
    expect(await sweep(name)).toMatchObject({ ...counts, skipped: 2 });
    expect(rig.stub.conversions.size).toBe(2);
  });

  it("is never uploaded if the service says beforehand that it can't convert it, and the warning says why", async () => {
    rig.stub.on('convert/graph', (_seen, response) => answerOutput(response, { is_match: false }));
    const { planned, ...swept } = await sweep(await schedule({ unconvertible: 'skip' }));
    expect(swept).toMatchObject({ ...counts, skipped: 1, unconvertible: 1 });
    expect(planned?.warnings).toEqual([
      expect.stringMatching(
        /^1 file of format md can't be converted, and will be skipped: the service does not convert md to pdf\./,
      ),
    ]);
    expect(uploads('bad.md')).toBe(0);
  });
});

it('sweeps under policy fail charge a file once however often its answer is lost, and name the command for a person', async () => {
  await put('a.md', '# A\n');
  await put('b.md', '# B\n');
  rig.stub.loseSubmits();
  const name = await schedule({ policies: { ...quickPolicies, onUnknownOutcome: 'fail' } });
  expect(await sweep(name)).toMatchObject({ ...counts, failed: 2 });
  for (let again = 0; again < 2; again += 1) expect(await sweep(name)).toMatchObject({ ...counts, failed: 2, kept: 2 });
  await put('c.md', '# C\n');
  expect(await sweep(name)).toMatchObject({ ...counts, failed: 3, kept: 2 });
  expect(await sweep(name)).toMatchObject({ ...counts, failed: 3, kept: 3 });
  expect(await detailsOfNewest(name)).toContain(
    `**Needs a person**: 3 files were not converted, since an earlier run may have been charged for them. Look at the service first; to convert all the same, and maybe pay twice: \`fileconv batch retry ${name} --resubmit\``,
  );
  expect(rig.stub.conversions.size).toBe(3);
  const runs = path.join(rig.folder, 'batches', name);
  const folders = (await runsOf(name)).map((run) => path.join(runs, run));
  expect(await chargeProblems(conversionsOf(rig.stub), folders, rig.temporal)).toEqual([]);
});

it('a file is marked if one of the same destination, now gone, may have been charged after it', async () => {
  const name = await schedule();
  rig.stub.fail('convert/file', 200, 'FAILED_CONVERT');
  const first = await put('a.md', '# A\n');
  expect(await sweep(name)).toMatchObject({ ...counts, failed: 1 });
  await rm(first);
  const second = await put('a.txt', 'Another\n');
  rig.stub.loseSubmits();
  expect(await sweep(name)).toMatchObject({ ...counts, failed: 1, failures: { OUTCOME_UNKNOWN: 1 } });
  await rm(second);
  await put('a.md', '# A, repaired\n');
  rig.stub.asAlways('convert/file');
  expect(await sweep(name)).toMatchObject({ ...counts, succeeded: 1, possiblyChargedTwice: 1 });
});

describe('sweeps under policy resubmit', () => {
  it('do not pay again for a file that an earlier sweep may have been charged for', async () => {
    await put('a.md', '# A\n');
    rig.stub.loseSubmits();
    const name = await schedule({ policies: { ...quickPolicies, onUnknownOutcome: 'resubmit', maxResubmissions: 1 } });
    expect(await sweep(name)).toMatchObject({ ...counts, failed: 1 });
    expect(rig.stub.conversions.size).toBe(2);
    for (let again = 0; again < 3; again += 1)
      expect(await sweep(name)).toMatchObject({ ...counts, failed: 1, kept: 1 });
    expect(rig.stub.conversions.size).toBe(2);
  });

  it('do not pay again for a task of an earlier sweep that the service has lost', async () => {
    await put('a.md', '# A\n');
    await mkdir(path.join(rig.folder, 'out'), { recursive: true });
    const inTheWay = path.join(rig.folder, 'out', 'a.pdf');
    rig.stub.on('task/response', (seen, response) => {
      void writeFile(inTheWay, '').then(() => answerCompleted(response, seen.connector));
    });
    const name = await schedule({ policies: { ...quickPolicies, onUnknownOutcome: 'resubmit' } });
    expect(await sweep(name)).toMatchObject({ ...counts, failed: 1 });
    await rm(inTheWay);
    rig.stub.fail('task/response', 404, 'FILE_NOT_EXISTS');
    expect(await sweep(name)).toMatchObject({ ...counts, failed: 1 });
    expect(await sweep(name)).toMatchObject({ ...counts, failed: 1, kept: 1 });
    expect(rig.stub.conversions.size).toBe(1);
  });
});

/** The current details of the newest sweep, as the UI shows them. */
const detailsOfNewest = async (name: string): Promise<string> =>
  rig.details((await sweepsOf(name)).at(-1)?.workflowId ?? '');

const runsOf = async (name: string): Promise<string[]> =>
  (await readdir(path.join(rig.folder, 'batches', name))).filter((each) => each.startsWith('run-')).sort();
