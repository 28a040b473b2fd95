import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { BatchDesk } from '../support/batch-desk';
import { rigOfEachTest } from '../support/conversion-worker';
import { answerCompleted, answerError, answerNotYet, cut } from '../support/stub-service';
import { until } from '../support/until';

/** What a batch that is run again does with what its earlier runs were, or may have been, charged for. See docs/repetition.md. */

const rig = rigOfEachTest();

/** When all are accepted somebody puts files of his own where their results are to go; answers how to take them away. */
async function occupy(desk: BatchDesk, ...names: string[]): Promise<() => Promise<void>> {
  await mkdir(path.dirname(desk.output('1.pdf')), { recursive: true });
  rig.stub.on('task/response', async (seen, response) => {
    const id = String(seen.data['connector']);
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

/** The service has forgotten all tasks of now. */
function forgetTasks() {
  const forgotten = new Set(rig.stub.conversions.keys());
  rig.stub.on('task/response', (seen, response) => {
    const id = String(seen.data['connector']);
    if (forgotten.has(id)) answerError(response, 404, 'NO_CONNECTOR_DEPENDENT_TASK');
    else answerCompleted(response, id);
  });
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

describe('a submit whose outcome is unknown', () => {
  it('is kept as it is under policy fail, by batch run and batch retry, until somebody asks to resubmit it', async () => {
    const desk = await deskWith(3, 'fail');
    rig.stub.loseSubmits();
    const first = await desk.run();
    expect(first.result).toMatchObject({ failed: 3, failures: { OUTCOME_UNKNOWN: 3 } });
    expect(first.rows['1.pdf']).toMatchObject({ status: 'failed', charge: 'maybe', source: { bytes: 7 } });
    rig.stub.asAlways('convert/file');

    expect((await desk.run()).planned).toMatchObject({ todo: 0, kept: 3 });
    expect((await desk.retry()).planned).toMatchObject({ todo: 0, kept: 3 });
    expect(converted()).toBe(3);

    await desk.put('4.md');
    const more = await desk.run();
    expect(more.result).toMatchObject({ succeeded: 1, failed: 3, kept: 3, failures: { OUTCOME_UNKNOWN: 3 } });
    expect(more.rows['1.pdf']).toMatchObject({ status: 'failed', code: 'OUTCOME_UNKNOWN', charge: 'maybe' });
    expect(more.rows['1.pdf']).toMatchObject({ kept: true });
    expect(more.rows['1.pdf']?.requests).toBeUndefined();
    expect(converted()).toBe(4);

    const again = await desk.retry({ resubmit: true });
    expect(again.result).toMatchObject({ succeeded: 3, skipped: 1, possiblyChargedTwice: 3 });
    expect(converted()).toBe(7);
    expect(await desk.problems()).toEqual([]);
  });

  it('is converted again under policy resubmit, and the mark stays with the item over runs', async () => {
    const desk = await deskWith(2, 'resubmit');
    rig.stub.loseSubmits();
    expect((await desk.run()).result).toMatchObject({ failed: 2 });
    rig.stub.asAlways('convert/file');
    expect((await desk.retry()).result).toMatchObject({ succeeded: 2, possiblyChargedTwice: 2 });
    await desk.put('3.md');
    const third = await desk.run();
    expect(third.result).toMatchObject({ succeeded: 1, skipped: 2, possiblyChargedTwice: 2 });
    expect(third.rows['1.pdf']).toMatchObject({ status: 'skipped', possiblyChargedTwice: true });
    expect(await desk.problems()).toEqual([]);

    await desk.put('1.md', '# another text\n');
    const fourth = await desk.run();
    expect(fourth.rows['1.pdf']).toMatchObject({ status: 'succeeded' });
    expect(fourth.rows['1.pdf']?.possiblyChargedTwice).toBeUndefined();
    expect(fourth.result).toMatchObject({ possiblyChargedTwice: 1 });
  });

  it('does not hold back another content, which is marked', async () => {
    const desk = await deskWith(2, 'fail');
    rig.stub.loseSubmits();
    await desk.run();
    rig.stub.asAlways('convert/file');
    await desk.put('1.md', '# another text\n');
    const again = await desk.run();
    expect(again.result).toMatchObject({ succeeded: 1, failed: 1, kept: 1, possiblyChargedTwice: 1 });
    expect(await desk.problems()).toEqual([]);
  });
});

describe('an accepted conversion whose result was not delivered', () => {
  it.each(['fail', 'resubmit'] as const)(
    'is fetched, and nothing is uploaded or submitted (policy %s)',
    async (policy) => {
      const desk = await deskWith(3, policy);
      const free = await occupy(desk, '1.pdf', '2.pdf', '3.pdf');
      const first = await desk.run();
      expect(first.rows['2.pdf']).toMatchObject({ status: 'failed', phase: 'downloading', charge: 'yes' });
      await free();
      const uploads = rig.stub.count('upload/file');
      const again = await desk.retry();
      expect(again.result).toMatchObject({ succeeded: 3, possiblyChargedTwice: 0 });
      expect(again.rows['2.pdf']).toMatchObject({ taskId: first.rows['2.pdf']?.taskId, source: { bytes: 7 } });
      expect([rig.stub.count('upload/file'), converted()]).toEqual([uploads, 3]);
      expect((await desk.run()).planned).toMatchObject({ done: 3, todo: 0 });
      expect(await desk.problems()).toEqual([]);
    },
  );

  it('is fetched also after its job was cancelled or terminated', async () => {
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
    expect(converted()).toBe(4);
    expect(await desk.problems()).toEqual([]);
  });

  it('is converted again when the service has lost it, marked; under policy fail only on request', async () => {
    const desk = await deskWith(2, 'fail');
    const free = await occupy(desk, '1.pdf', '2.pdf');
    await desk.run();
    await free();
    forgetTasks();
    const lost = await desk.retry();
    expect(lost.result).toMatchObject({ failed: 2 });
    expect(lost.rows['1.pdf']).toMatchObject({ charge: 'maybe' });
    expect((await desk.retry()).planned).toMatchObject({ todo: 0, kept: 2 });
    expect(converted()).toBe(2);
    expect((await desk.retry({ resubmit: true })).result).toMatchObject({ succeeded: 2, possiblyChargedTwice: 2 });
    expect(await desk.problems()).toEqual([]);
  });
});

describe('a delivered result that somebody has removed', () => {
  it('is not converted again, nor fetched, but named, unless all is wanted again', async () => {
    const desk = await deskWith(2, 'fail');
    await desk.run();
    await rm(desk.output('1.pdf'));
    const requests = rig.stub.requests.length;
    for (const command of ['run', 'retry'] as const) expect((await desk[command]()).planned).toMatchObject({ todo: 0 });
    forgetTasks();
    expect((await desk.run()).planned).toMatchObject({ done: 2, missing: 1 });
    expect(rig.stub.requests.length).toBe(requests);
    await desk.put('3.md');
    const third = await desk.run();
    expect(third.result).toMatchObject({ succeeded: 1, skipped: 2, missing: 1 });
    expect(third.rows['1.pdf']).toMatchObject({ status: 'skipped', missing: true });
    expect(converted()).toBe(3);
    expect(await desk.problems()).toEqual([]);
    expect((await desk.run({ again: true })).result).toMatchObject({ succeeded: 3, possiblyChargedTwice: 0 });
    expect(converted()).toBe(6);
  });
});

describe('a batch whose workflow was terminated', () => {
  it('is continued with: what its jobs did counts, though rows have other numbers now and nothing tells how they ended', async () => {
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
    // Sorted before the others.
    await desk.put('0.md');
    const again = await desk.run();
    expect(again.result).toMatchObject({ status: 'completed', succeeded: 3, skipped: 4, possiblyChargedTwice: 0 });
    expect(converted()).toBe(7);
    expect(await desk.problems()).toEqual([]);
  });

  it('takes the outcome of a job that it finds running, whatever that is', async () => {
    const desk = await deskWith(2, 'resubmit');
    rig.stub.hold();
    await desk.start();
    await until('both are accepted', () => rig.stub.count('task/response') >= 2);
    await rig.temporal.workflow.getHandle(desk.name).terminate('by hand');
    const again = await desk.start();
    await until('it found them', async () => {
      const { raw } = await rig.temporal.workflow.getHandle(desk.name).describe();
      return (raw.pendingActivities ?? []).some(({ activityType }) => activityType?.name === 'conversion.awaitJobs');
    });
    await rig.temporal.workflow.getHandle(desk.jobId('1.pdf')).cancel();
    rig.stub.asAlways('task/response');
    const ended = await desk.end(again);
    expect(ended.rows).toMatchObject({
      '1.pdf': { status: 'cancelled', charge: 'yes' },
      '2.pdf': { status: 'succeeded' },
    });
    expect(converted()).toBe(2);
    expect(await desk.problems()).toEqual([]);
  });

  it('keeps what may have been charged when its policy is fail', async () => {
    const desk = await deskWith(2, 'fail', { window: 1 });
    rig.stub.loseSubmits();
    rig.stub.hold();
    const batch = await desk.start();
    await until('one has ended', async () => (await batch.state()).failed >= 1);
    await batch.pause();
    await rig.temporal.workflow.getHandle(desk.name).terminate('by hand');
    rig.stub.asAlways('convert/file', 'task/response');
    await until('no job runs', async () => {
      const { status } = await rig.temporal.workflow.getHandle(desk.jobId('1.pdf')).describe();
      return status.name !== 'RUNNING';
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

it('a row that one run left out is known to the next that has it', async () => {
  const desk = await deskWith(2, 'fail');
  rig.stub.loseSubmits();
  await desk.run();
  rig.stub.asAlways('convert/file');
  const file = await desk.put('1.md');
  const text = await readFile(file);
  await rm(file);
  await desk.put('3.md');
  expect((await desk.run()).planned).toMatchObject({ rows: 2, kept: 1, todo: 1 });
  await writeFile(file, text);
  expect((await desk.run()).planned).toMatchObject({ rows: 3, done: 1, kept: 2, todo: 0 });
});

describe('when Temporal has forgotten the batch and its jobs', () => {
  /** As the end of the namespace's retention does. */
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

  it.each([
    { policy: 'fail', then: { failed: 1, skipped: 1, kept: 1, possiblyChargedTwice: 0 }, conversions: 3 },
    { policy: 'resubmit', then: { succeeded: 2, skipped: 1, possiblyChargedTwice: 1 }, conversions: 4 },
  ] as const)('the ledger tells what was paid: policy $policy', async ({ policy, then, conversions }) => {
    // Delivered, unknown, and accepted without a delivery.
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
    // Nobody can compare it with the histories any more.
    rig.stub.conversions.clear();
  });
});

describe('a result that somebody edits while its new version is made', () => {
  const edited = 'edited by hand';

  it.each([
    { while: 'it is converted', endpoint: 'task/response' },
    { while: 'it is downloaded', endpoint: 'download/url/get' },
  ])('stays while $while; the task is kept, and fetched once the file is out of the way', async ({ endpoint }) => {
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
    expect(await readFile(desk.output('1.pdf'))).toEqual(rig.stub.output);
    expect(converted()).toBe(2);
  });
});
