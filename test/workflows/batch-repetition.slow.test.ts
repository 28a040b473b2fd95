import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { BatchItemResult } from '../../src/batch/model/state';
import { BatchDesk } from '../support/batch-desk';
import { quickPolicies, rigOfEachTest } from '../support/conversion-worker';
import { retryJob } from '../support/retry';
import { answerCompleted, answerNotYet, cut } from '../support/stub-service';
import { until } from '../support/until';

/** What a repeated batch does about charges, certain or possible, of its earlier runs. See docs/repetition.md. */

const rig = rigOfEachTest();

/** Once all jobs are accepted, puts foreign files at their destinations. Returns a function that removes them. */
async function occupy(desk: BatchDesk, ...names: string[]): Promise<() => Promise<void>> {
  await mkdir(path.dirname(desk.output('1.pdf')), { recursive: true });
  rig.stub.on('task/response', async ({ connector: id }, response) => {
    if (converted() < names.length) {
      answerNotYet(response, id);
      return;
    }
    await Promise.all(names.map((name) => writeFile(desk.output(name), 'mine')));
    answerCompleted(response, id);
  });
  return async () => {
    rig.stub.asAlways('task/response');
    await Promise.all(names.map((name) => rm(desk.output(name))));
  };
}

const converted = () => rig.stub.conversions.size;

async function deskWith(
  files: number,
  ...options: ConstructorParameters<typeof BatchDesk> extends [unknown, ...infer Rest] ? Rest : never
) {
  const desk = new BatchDesk(rig, ...options);
  for (let file = 1; file <= files; file += 1) await desk.put(`${file}.md`);
  return desk;
}

/** Every cell of the table is in `repetition-table.slow.test.ts`. */

it('fetches an accepted but undelivered conversion, even after its job was cancelled or terminated', async () => {
  const desk = await deskWith(4, 'resubmit');
  rig.stub.hold();
  const batch = await desk.start();
  await until('all are accepted', () => rig.stub.count('task/response') >= 4);
  await rig.temporal.workflow.getHandle(desk.jobId('1.pdf')).terminate('by hand');
  await until('one has ended', async () => (await batch.state()).failed === 1);
  await batch.cancel();
  const ended = await desk.end(batch);
  expect(ended.result).toMatchObject({ failed: 1, cancelled: 3 });
  expect(Object.values(ended.rows).map(({ charge }) => charge)).toEqual(['yes', 'yes', 'yes', 'yes']);
  rig.stub.asAlways('task/response');
  expect((await desk.run()).result).toMatchObject({ succeeded: 4, possiblyChargedTwice: 0 });
  expect([converted(), await desk.problems()]).toEqual([4, []]);
});

it.each([
  ['the same file with other options', 'a.md', { dpi: 96 }],
  ['another file', 'b.md', { dpi: 72 }],
])(
  'converts %s to a destination whose last conversion is unknown, and marks it: policy fail',
  async (_what, next, parameters) => {
    const [out, runs] = [path.join(rig.folder, 'out'), path.join(rig.folder, 'runs')];
    const run = async (file: string, options: { dpi: number }) => {
      const batch = await rig.client.startBatch({
        ...{ name: `unknown-${path.basename(rig.folder)}`, sources: [await rig.source(file, file)], to: 'pdf' },
        ...{ out, runs, template: 'result.{ext}', parameters: options },
        policies: { ...quickPolicies, onUnknownOutcome: 'fail' },
      });
      const rows: BatchItemResult[] = [];
      for await (const row of batch.results()) rows.push(row);
      return rows;
    };
    rig.stub.loseSubmits();
    expect(await run('a.md', { dpi: 72 })).toMatchObject([{ code: 'OUTCOME_UNKNOWN' }]);
    rig.stub.asAlways('convert/file');
    expect(await run(next, parameters)).toMatchObject([{ status: 'succeeded', possiblyChargedExtra: 1 }]);
  },
);

it('waits for a job that another batch has started, and leaves its cost to that batch', async () => {
  const desk = await deskWith(1, 'resubmit');
  const source = await desk.put('1.md');
  rig.stub.hold();
  const first = await desk.start();
  await until('it is accepted', () => rig.stub.count('task/response') >= 1);
  const items = [{ source, output: 'pdf', destination: desk.output('1.pdf') }];
  const second = await rig.client.startBatch({ name: `${desk.name}-2`, items });
  await untilItFoundThem(second.name);
  rig.stub.asAlways('task/response');
  expect(await desk.end(first)).toMatchObject({ result: { succeeded: 1, vcredits: 1 } });
  const { vcredits, itemResults } = await second.result();
  expect(vcredits).toBe(0);
  expect(itemResults).toEqual([expect.objectContaining({ status: 'succeeded', charge: 'yes', requests: 0 })]);
  expect(itemResults?.[0]).not.toHaveProperty('vcredits');
  expect(converted()).toBe(1);
});

it('does not take the result of a job that has uploaded an older version of the file: converts the new one after it', async () => {
  const desk = await deskWith(1);
  const source = await desk.put('1.md');
  const held = rig.stub.hold();
  const job = await rig.client.start({ source, output: 'pdf', destination: desk.output('1.pdf') });
  await until('it is accepted', () => rig.stub.count('task/response') >= 1);
  await desk.put('1.md', 'the next version');
  const batch = await desk.start();
  await untilItFoundThem(desk.name);
  rig.stub.asAlways('task/response');
  held.letGo();
  const { source: first } = await job.result();
  const { result, rows } = await desk.end(batch);
  expect(result).toMatchObject({ succeeded: 1, vcredits: 1, possiblyChargedTwice: 0 });
  expect([first?.bytes, rows['1.pdf']?.source?.bytes, converted()]).toEqual([
    '# 1.md\n'.length,
    'the next version'.length,
    2,
  ]);
});

const untilItFoundThem = async (name: string): Promise<void> =>
  await until('it found them', async () => {
    const { raw } = await rig.temporal.workflow.getHandle(name).describe();
    return (raw.pendingActivities ?? []).some(({ activityType }) => activityType?.name === 'conversion.awaitJobs');
  });

describe('a batch whose workflow was terminated', () => {
  it('counts what its jobs did, although the rows are renumbered and no record says how the jobs ended', async () => {
    const desk = await deskWith(6, 'resubmit', { window: 4 });
    rig.stub.hold();
    await desk.start();
    await until('four are accepted', () => rig.stub.count('task/response') >= 4);
    await rig.temporal.workflow.getHandle(desk.name).terminate('by hand');
    rig.stub.asAlways('task/response');
    await until('their jobs have ended', async () => {
      const ended = await Promise.all(
        [1, 2, 3, 4].map((item) => rig.temporal.workflow.getHandle(desk.jobId(`${item}.pdf`)).describe()),
      );
      return ended.every(({ status }) => status.name === 'COMPLETED');
    });
    // Sorts before the others.
    await desk.put('0.md');
    const again = await desk.run();
    expect(again.result).toMatchObject({ status: 'completed', succeeded: 3, skipped: 4, possiblyChargedTwice: 0 });
    expect(converted()).toBe(7);
    // No other run has reported their cost.
    expect(again.result.vcredits).toBe(7);
    expect((await desk.run()).result).toMatchObject({ skipped: 7, vcredits: 0 });
    expect(await desk.problems()).toEqual([]);
  });

  it('takes the outcome of a job that it finds running, whatever it is', async () => {
    const desk = await deskWith(2, 'resubmit');
    rig.stub.hold();
    await desk.start();
    await until('both are accepted', () => rig.stub.count('task/response') >= 2);
    await rig.temporal.workflow.getHandle(desk.name).terminate('by hand');
    const again = await desk.start();
    await untilItFoundThem(desk.name);
    await rig.temporal.workflow.getHandle(desk.jobId('1.pdf')).cancel();
    rig.stub.asAlways('task/response');
    expect((await desk.end(again)).rows).toMatchObject({
      '1.pdf': { status: 'cancelled', charge: 'yes' },
      '2.pdf': { status: 'succeeded' },
    });
    expect([converted(), await desk.problems()]).toEqual([2, []]);
  });

  it('keeps a possible charge under policy fail', async () => {
    const desk = await deskWith(2, 'fail', { window: 1 });
    rig.stub.loseSubmits();
    rig.stub.hold();
    const batch = await desk.start();
    await until('one has ended', async () => (await batch.state()).failed >= 1);
    await batch.pause();
    await rig.temporal.workflow.getHandle(desk.name).terminate('by hand');
    rig.stub.asAlways('convert/file', 'task/response');
    await until('no job runs', async () => {
      return (await rig.temporal.workflow.getHandle(desk.jobId('1.pdf')).describe()).status.name !== 'RUNNING';
    });
    const before = converted();
    const again = await desk.run();
    const kept = { status: 'failed', code: 'OUTCOME_UNKNOWN', charge: 'maybe', kept: true };
    expect(again.rows['1.pdf']).toMatchObject(kept);
    const rows = Object.values(again.rows).filter((row) => row.kept);
    expect(again.result).toMatchObject({ failed: rows.length, kept: rows.length });
    expect(converted() - before).toBeLessThanOrEqual(1);
    expect(await desk.problems()).toEqual([]);
  });
});

it('a kept row asks a job that somebody has started for its destination since, and is done if that one delivered', async () => {
  const desk = await deskWith(2, 'fail', { policies: { maxResubmissions: 0 } });
  rig.stub.loseSubmits();
  expect((await desk.run()).result).toMatchObject({ failed: 2, failures: { OUTCOME_UNKNOWN: 2 } });
  rig.stub.asAlways('convert/file');
  // As the messages of the rows advise.
  const retried = await retryJob(rig.temporal, desk.jobId('1.pdf'), { resubmit: true });
  expect(await retried.result()).toMatchObject({ status: 'succeeded', possiblyChargedExtra: 1 });
  const again = await desk.run();
  expect(again.result).toMatchObject({ failed: 1, kept: 1, skipped: 1, possiblyChargedTwice: 1 });
  expect(again.rows).toMatchObject({ '1.pdf': { possiblyChargedExtra: 1 }, '2.pdf': { kept: true } });
  expect((await desk.run()).planned).toMatchObject({ todo: 0, done: 1, kept: 1 });
  expect([converted(), await desk.problems()]).toEqual([3, []]);
});

describe('when Temporal has forgotten the batch and its jobs', () => {
  /** Simulates the end of the namespace's retention. */
  async function forget(...workflowIds: string[]) {
    const { workflow, workflowService, options } = rig.temporal;
    for (const workflowId of workflowIds) {
      const execution = { namespace: options.namespace, workflowExecution: { workflowId } };
      await workflowService.deleteWorkflowExecution(execution);
      await until(`${workflowId} is forgotten`, async () => {
        const known = workflow.getHandle(workflowId).describe();
        return known.then(
          () => false,
          () => true,
        );
      });
    }
  }

  it.each(['fail', 'resubmit'] as const)(
    'a mark of the ledger stays when a job that could not know of it has delivered since: policy %s',
    async (policy) => {
      const desk = await deskWith(1, policy, { policies: { maxResubmissions: 0 } });
      rig.stub.loseSubmits();
      expect((await desk.run()).result).toMatchObject({ failures: { OUTCOME_UNKNOWN: 1 } });
      await forget(desk.jobId('1.pdf'));
      const request = { source: await desk.put('1.md'), output: 'pdf', destination: desk.output('1.pdf') };
      const policies = { ...quickPolicies, onUnknownOutcome: 'fail' } as const;
      rig.stub.fail('convert/file', 400, 'INVALID_PARAMETER');
      await expect(rig.client.convert({ ...request, policies })).rejects.toMatchObject({ code: 'INVALID_PARAMETER' });
      if (policy === 'fail') expect((await desk.run()).result).toMatchObject({ failed: 1 });
      rig.stub.asAlways('convert/file');
      expect(converted()).toBe(1);
      await forget(desk.jobId('1.pdf'));
      expect(await rig.client.convert({ ...request, policies })).toMatchObject({ possiblyChargedTwice: false });
      const { result, rows } = await desk.run();
      expect(result).toMatchObject({ skipped: 1, possiblyChargedTwice: 1 });
      expect(rows['1.pdf']?.possiblyChargedExtra).toBe(1);
      expect([converted(), await desk.problems()]).toEqual([2, []]);
      rig.stub.conversions.clear();
    },
  );

  it.each([
    { policy: 'fail', then: { failed: 1, skipped: 1, kept: 1, possiblyChargedTwice: 0 }, conversions: 3 },
    { policy: 'resubmit', then: { succeeded: 2, skipped: 1, possiblyChargedTwice: 1 }, conversions: 4 },
  ] as const)('the ledger says what was paid: policy $policy', async ({ policy, then, conversions }) => {
    // One delivered, one with an unknown outcome, one accepted but not delivered.
    const desk = await deskWith(3, policy, { window: 1, policies: { maxResubmissions: 0 } });
    const leave = await occupy(desk, '3.pdf');
    rig.stub.on('convert/file', (seen, response, stub) => {
      if (converted() !== 1) stub.answerAsAlways(seen, response);
      else {
        stub.convert(seen);
        cut(response);
      }
    });
    expect((await desk.run()).result).toMatchObject({ succeeded: 1, failed: 2 });
    rig.stub.asAlways('convert/file');
    await leave();
    await forget(desk.name, ...['1.pdf', '2.pdf', '3.pdf'].map((name) => desk.jobId(name)));
    const again = await desk.run();
    expect(again.result).toMatchObject(then);
    expect(again.rows['1.pdf']).toMatchObject({ status: 'skipped' });
    expect(again.rows['3.pdf']).toMatchObject({ status: 'succeeded' });
    expect(again.rows['3.pdf']?.possiblyChargedTwice).toBeFalsy();
    expect(converted()).toBe(conversions);
    // The histories to compare it with are gone.
    rig.stub.conversions.clear();
  });
});

it('replaces a result that another job has delivered to the same destination since the batch was planned', async () => {
  const desk = await deskWith(2, 'resubmit', { window: 1 });
  expect((await desk.run()).result).toMatchObject({ succeeded: 2 });
  await desk.put('1.md', 'the next version');
  const source = await desk.put('2.md', 'the next version');
  const held = rig.stub.hold('1.md');
  const batch = await desk.start();
  await until('the first converts', () => converted() === 3);
  rig.stub.output = Buffer.concat([rig.stub.output, rig.stub.output]);
  const job = {
    source,
    output: 'pdf',
    destination: desk.output('2.pdf'),
    onExisting: 'overwrite',
    policies: quickPolicies,
  } as const;
  await rig.client.convert(job);
  await desk.put('2.md', 'the version after that');
  held.letGo();
  expect((await desk.end(batch)).result).toMatchObject({ succeeded: 2, failures: {} });
  expect(converted()).toBe(5);
});

describe('a result that somebody edits while its new version is made', () => {
  const edited = 'edited by hand';

  it.each([
    { while: 'it is converted', endpoint: 'task/response' },
    { while: 'it is downloaded', endpoint: 'download/url/get' },
  ])(
    'stays if edited while $while; the task is kept and fetched once the file is out of the way',
    async ({ endpoint }) => {
      const desk = await deskWith(1);
      expect((await desk.run()).result).toMatchObject({ succeeded: 1 });
      await desk.put('1.md', 'the next version');
      rig.stub.on(endpoint, async (seen, response) => {
        await writeFile(desk.output('1.pdf'), edited);
        rig.stub.answerAsAlways(seen, response);
      });
      expect((await desk.run()).result).toMatchObject({ failed: 1, failures: { DESTINATION_EXISTS: 1 } });
      expect(await readFile(desk.output('1.pdf'), 'utf8')).toBe(edited);
      rig.stub.asAlways(endpoint);
      await rm(desk.output('1.pdf'));
      expect((await desk.retry()).result).toMatchObject({ succeeded: 1, possiblyChargedTwice: 0 });
      expect([await readFile(desk.output('1.pdf')), converted()]).toEqual([rig.stub.output, 2]);
    },
  );
});
