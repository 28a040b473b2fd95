import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { ConversionFailedError } from '../../src/client/conversion-handle';
import { inspectJob } from '../../src/client/operations/inspect-job';
import { lastRun } from '../../src/recall/last-run';
import { recallJob } from '../../src/recall/recall-job';
import type { EarlierRuns } from '../../src/job/charge';
import type { ConversionPolicies } from '../../src/job/types';
import { createLocalFiles } from '../../src/storage/local-files';
import { Stores } from '../../src/storage/stores';
import type { conversionJob } from '../../src/workflows/job/conversion-job';
import { quickPolicies, rigOfAllTests } from '../support/conversion-worker';
import { resetWorkflow, type ResetPoint } from '../support/reset';
import { decisionAbout, retryJob } from '../support/retry';
import { answerCompleted, answerError, cut } from '../support/stub-service';
import { until } from '../support/until';

/** Jobs that know what earlier runs left at the service, on a real Temporal server. */

const rig = rigOfAllTests();
beforeEach(() => {
  rig.stub.asAlways('upload/file', 'convert/file', 'task/response', 'download/url', 'download/url/get');
  rig.stub.requests.length = 0;
});

async function request(policies: ConversionPolicies = {}) {
  const name = randomUUID();
  const source = await rig.source(`${name}.md`);
  const destination = path.join(rig.folder, 'out', `${name}.pdf`);
  return { ...(await rig.request({ policies })), source, destination };
}

async function convert(earlier: EarlierRuns, policies: ConversionPolicies = {}) {
  const outcome = await rig.client.convert({ ...(await request(policies)), earlier }).then(
    (result) => ({ result, failure: undefined }),
    (failure: unknown) => {
      if (failure instanceof ConversionFailedError) return { result: undefined, failure };
      throw failure;
    },
  );
  const { stub } = rig;
  return { ...outcome, uploads: stub.count('upload/file'), submits: stub.count('convert/file') };
}

describe('a job whose earlier run was accepted as a task', () => {
  const earlier: EarlierRuns = { charge: 'yes', taskId: 'task-of-before', source: { bytes: 1, sha256: 'ab' } };

  it.each(['fail', 'resubmit'] as const)(
    'fetches it under policy %s: nothing is uploaded or submitted',
    async (policy) => {
      const { result, uploads, submits } = await convert(earlier, { onUnknownOutcome: policy });
      expect([uploads, submits]).toEqual([0, 0]);
      expect(result).toMatchObject({
        status: 'succeeded',
        taskId: 'task-of-before',
        charge: 'yes',
        possiblyChargedTwice: false,
        source: earlier.source,
      });
    },
  );

  it.each(['fail', 'skip', 'rename'] as const)(
    'accepts as its result what that run may already have delivered, under policies that do not replace files (%s)',
    async (onExisting) => {
      const folder = path.join(rig.folder, 'out', onExisting);
      await mkdir(folder, { recursive: true });
      const repeat = async (name: string) =>
        rig.client.convert({ ...(await request()), destination: path.join(folder, name), onExisting, earlier });

      await writeFile(path.join(folder, 'own.pdf'), rig.stub.output);
      expect(await repeat('own.pdf')).toMatchObject({ status: 'succeeded', output: { name: 'own.pdf' } });
      expect(await readdir(folder)).toEqual(['own.pdf']);

      await writeFile(path.join(folder, 'other.pdf'), 'another');
      expect(await repeat('other.pdf').catch((error: unknown) => error)).toMatchObject(
        {
          fail: { code: 'DESTINATION_EXISTS' },
          skip: { status: 'skipped' },
          rename: { status: 'succeeded', output: { name: 'other (1).pdf' } },
        }[onExisting],
      );
    },
  );

  describe.each([
    ['task/response', 'NO_CONNECTOR_DEPENDENT_TASK'],
    ['download/url', 'DOWNLOAD_EXPIRED'],
  ])('that the service no longer has, by %s', (endpoint, code) => {
    beforeEach(() => {
      rig.stub.on(endpoint, (seen, response) => {
        if (seen.connector === 'task-of-before') answerError(response, 404, code);
        else rig.stub.answerAsAlways(seen, response);
      });
    });

    it('fails under policy fail, says so, and submits nothing', async () => {
      const { failure, submits } = await convert(earlier, { onUnknownOutcome: 'fail' });
      expect(submits).toBe(0);
      expect(failure?.code).toBe(code);
      expect(failure?.message).toContain('--resubmit');
      expect(failure?.details).toMatchObject({ charge: 'maybe', taskId: 'task-of-before' });
    });

    it('converts again under policy resubmit, and is marked', async () => {
      const { result, submits } = await convert(earlier, { onUnknownOutcome: 'resubmit' });
      expect(submits).toBe(1);
      expect(result).toMatchObject({ status: 'succeeded', possiblyChargedTwice: true });
    });
  });

  it('converts again without a mark if the service reports the task as failed, which is free', async () => {
    rig.stub.on('task/response', ({ connector: id }, response) => {
      const error = { code: 'INTERNAL_SERVER_ERROR', message: 'failed.' };
      answerCompleted(response, id, id === 'task-of-before' ? { error } : {});
    });
    const { result, submits } = await convert(earlier, { onUnknownOutcome: 'fail' });
    expect(submits).toBe(1);
    expect(result).toMatchObject({ status: 'succeeded', possiblyChargedTwice: false });
  });
});

describe('a job whose earlier submit has an unknown outcome', () => {
  it('is marked once another submit is accepted', async () => {
    const { result, submits } = await convert({ charge: 'maybe' });
    expect(submits).toBe(1);
    expect(result).toMatchObject({ status: 'succeeded', possiblyChargedTwice: true });
  });

  it('keeps its possible charge when the other submit is refused, which is free', async () => {
    rig.stub.fail('convert/file', 400, 'INVALID_PARAMETER');
    const { failure } = await convert({ charge: 'maybe' });
    expect(failure?.details).toMatchObject({ charge: 'maybe', possiblyChargedTwice: false });
  });
});

it('a job whose last run Temporal has forgotten may have been charged: it is kept under policy fail, else converted and marked', async () => {
  const { source, output } = await request();
  const files = new Stores({ file: createLocalFiles() });
  const job = { app: 'billing', source: { uri: pathToFileURL(source).href }, output };
  const decide = (onUnknownOutcome: 'fail' | 'resubmit') =>
    recallJob({ client: rig.temporal, files }, randomUUID(), {
      job,
      recall: { runId: randomUUID(), onUnknownOutcome },
    });
  expect(await decide('fail')).toMatchObject({ kind: 'keep', outcome: { code: 'OUTCOME_UNKNOWN', charge: 'maybe' } });
  expect(await decide('resubmit')).toEqual({ kind: 'start', earlier: { charge: 'maybe' } });
});

describe('an open charge, after a run of another content that ended before it uploaded', () => {
  async function stopped() {
    const asked = await request({ onUnknownOutcome: 'fail' });
    rig.stub.loseSubmits();
    await expect(rig.client.convert(asked)).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    rig.stub.asAlways('convert/file');
    await writeFile(asked.source, '# Another report\n');
    await mkdir(path.dirname(asked.destination), { recursive: true });
    await writeFile(asked.destination, 'of somebody');
    await expect(rig.client.convert(asked)).rejects.toMatchObject({ code: 'DESTINATION_EXISTS' });
    await rm(asked.destination);
    return asked;
  }

  it('marks that content when it is converted', async () => {
    const result = await rig.client.convert(await stopped());
    expect(result).toMatchObject({ status: 'succeeded', possiblyChargedExtra: 1 });
  });

  it('keeps the first content from being converted again', async () => {
    const asked = await stopped();
    await writeFile(asked.source, '# A report\n');
    await expect(rig.client.convert(asked)).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    expect(rig.stub.count('convert/file')).toBe(1);
  });
});

it('keeps the mark of an earlier run for good', async () => {
  const { result } = await convert({ charge: 'no', possiblyChargedExtra: 2 });
  expect(result).toMatchObject({ status: 'succeeded', possiblyChargedTwice: true, possiblyChargedExtra: 2 });
});

it('a second retry of a job knows what the first run was charged', async () => {
  rig.stub.on('convert/file', (_seen, response) => cut(response));
  const job = await rig.client.start(await request({ onUnknownOutcome: 'fail' }));
  await expect(job.result()).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
  expect(await decisionAbout(rig.temporal, job.workflowId)).toBe('keep');

  rig.stub.fail('convert/file', 400, 'INVALID_PARAMETER');
  await expect((await retryJob(rig.temporal, job.workflowId, { resubmit: true })).result()).rejects.toMatchObject({
    code: 'INVALID_PARAMETER',
  });

  expect((await inspectJob(rig.temporal, job.workflowId)).charge).toBe('maybe');
  expect(await decisionAbout(rig.temporal, job.workflowId)).toBe('keep');
  rig.stub.asAlways('convert/file');
  const again = await retryJob(rig.temporal, job.workflowId, { resubmit: true });
  expect(await again.result()).toMatchObject({ possiblyChargedTwice: true, possiblyChargedExtra: 1 });
});

it('a job that was given an outdated last run continues from the latest one instead', async () => {
  const wanted = { ...(await request()), onExisting: 'overwrite' as const };
  rig.stub.fail('upload/file', 400, 'INVALID_PARAMETER');
  const job = await rig.client.start(wanted);
  await expect(job.result()).rejects.toMatchObject({ code: 'INVALID_PARAMETER' });
  rig.stub.asAlways('upload/file');
  const { workflowId, runId, input } = await inspectJob(rig.temporal, job.workflowId);
  const startAfterIt = () =>
    rig.temporal.workflow.execute<typeof conversionJob>('conversionJob', {
      workflowId,
      taskQueue: rig.taskQueue,
      args: [{ ...input, recall: { runId, onUnknownOutcome: 'resubmit' } }],
    });
  expect(await startAfterIt()).toMatchObject({ status: 'succeeded' });
  expect(await startAfterIt()).toMatchObject({ status: 'skipped', recalled: true });
  expect(rig.stub.count('convert/file')).toBe(1);
});

it('concurrent look-ups of later runs share one Temporal list request, since lists are expensive', async () => {
  rig.stub.fail('upload/file', 400, 'INVALID_PARAMETER');
  const jobs = await Promise.all([1, 2, 3, 4].map(async () => rig.client.start(await request())));
  await Promise.allSettled(jobs.map((job) => job.result()));
  const runs = await Promise.all(jobs.map((job) => inspectJob(rig.temporal, job.workflowId)));
  const list = jest.spyOn(rig.temporal.workflowService, 'listWorkflowExecutions');
  const found = await Promise.all(runs.map(({ workflowId, runId }) => lastRun(rig.temporal, workflowId, runId)));
  expect(found.map((run) => run?.runId)).toEqual(runs.map(({ runId }) => runId));
  expect(list.mock.calls.length).toBeLessThanOrEqual(2);
  list.mockRestore();
});

it('a retry fetches the task of a job that was terminated after its submit, and removes what that job left', async () => {
  const held = rig.stub.hold();
  const folder = path.join(rig.folder, 'terminated');
  const job = await rig.client.start({ ...(await request()), destination: path.join(folder, 'report.pdf') });
  await until('it converts', async () => (await job.state()).phase === 'converting');
  const { taskId } = await job.state();
  await rig.temporal.workflow.getHandle(job.workflowId).terminate();
  held.letGo();

  const again = await retryJob(rig.temporal, job.workflowId);
  expect(await again.result()).toMatchObject({ status: 'succeeded', taskId });
  expect([rig.stub.count('convert/file'), await readdir(folder)]).toEqual([1, ['report.pdf']]);
});

describe('a job that is reset by hand', () => {
  async function reset(workflowId: string, to: ResetPoint) {
    await resetWorkflow(rig.temporal, workflowId, to);
    return rig.client.get(workflowId).result();
  }

  it('keeps waiting if it was parked, and continues on its own', async () => {
    rig.stub.fail('upload/file', 403, 'INVALID_CREDENTIAL');
    const policies = { ...quickPolicies, onRefusedAccount: 'park' as const };
    const job = await rig.client.start({ ...(await request()), policies });
    await until('it is parked', async () => (await job.state()).phase === 'parked');
    const ended = reset(job.workflowId, 'latest');
    const asked = rig.stub.count('upload/file');
    await until('it has asked again', () => rig.stub.count('upload/file') > asked + 1);
    rig.stub.asAlways('upload/file');
    expect(await ended).toMatchObject({ status: 'succeeded' });
    expect(rig.stub.count('convert/file')).toBe(1);
  });

  it('takes up what it has delivered if reset to before its submit, without another request', async () => {
    const job = await rig.client.start(await request());
    expect(await job.result()).toMatchObject({ status: 'succeeded' });
    const before = rig.stub.requests.length;
    const delivered = { status: 'skipped', recalled: true, charge: 'yes', possiblyChargedTwice: false };
    expect(await reset(job.workflowId, 'start')).toMatchObject(delivered);
    expect(await reset(job.workflowId, 'start')).toMatchObject(delivered);
    expect(rig.stub.requests.length).toBe(before);
    expect((await inspectJob(rig.temporal, job.workflowId)).possiblyChargedTwice).toBe(false);
  });

  it('fetches its result again if that is gone', async () => {
    const wanted = await request();
    const job = await rig.client.start(wanted);
    await job.result();
    await rm(wanted.destination);
    expect(await reset(job.workflowId, 'start')).toMatchObject({ status: 'succeeded', possiblyChargedTwice: false });
    expect(rig.stub.count('convert/file')).toBe(1);
  });

  it('does not convert a file that has changed since', async () => {
    const wanted = await request();
    const job = await rig.client.start(wanted);
    await job.result();
    await writeFile(wanted.source, '# Newer\n');
    await expect(reset(job.workflowId, 'start')).rejects.toMatchObject({ code: 'SOURCE_CHANGED' });
    expect(rig.stub.count('convert/file')).toBe(1);
  });

  it('sends nothing if reset to an event during its submit, which may have been charged', async () => {
    const answers: (() => void)[] = [];
    rig.stub.on('convert/file', (seen, response) => void answers.push(() => rig.stub.answerAsAlways(seen, response)));
    const job = await rig.client.start({ ...(await request()), policies: quickPolicies });
    await until('it submits', () => answers.length === 1);
    const handle = rig.temporal.workflow.getHandle(job.workflowId);
    await handle.signal('appReady', {});
    await until('that is in the history', async () => {
      const { events = [] } = await handle.fetchHistory();
      return events?.at(-1)?.workflowTaskCompletedEventAttributes != null;
    });
    const kept = expect.objectContaining({ charge: 'maybe', kept: true }) as unknown;
    await expect(reset(job.workflowId, 'latest')).rejects.toMatchObject({ details: kept });
    expect(answers).toHaveLength(1);
    for (const answer of answers) answer();
    expect((await inspectJob(rig.temporal, job.workflowId)).charge).toBe('maybe');
    rig.stub.asAlways('convert/file');
    const again = await retryJob(rig.temporal, job.workflowId, { resubmit: true });
    expect(await again.result()).toMatchObject({ possiblyChargedTwice: true, possiblyChargedExtra: 1 });
  });

  it('counts each submit of the runs before, however often it was reset', async () => {
    const policies = { ...quickPolicies, onUnknownOutcome: 'fail' as const };
    rig.stub.on('convert/file', (_seen, response) => cut(response));
    const { workflowId } = await rig.client.start({ ...(await request()), policies });
    const mayBeCharged = { details: { charge: 'maybe' } };
    await expect(rig.client.get(workflowId).result()).rejects.toMatchObject(mayBeCharged);
    const resubmit = async () => (await retryJob(rig.temporal, workflowId, { resubmit: true })).result();
    for (const lost of [() => reset(workflowId, 'start'), resubmit, () => reset(workflowId, 'latest')]) {
      await expect(lost()).rejects.toMatchObject(mayBeCharged);
      expect((await inspectJob(rig.temporal, workflowId)).charge).toBe('maybe');
    }
    rig.stub.asAlways('convert/file');
    expect(await resubmit()).toMatchObject({ status: 'succeeded', possiblyChargedExtra: 2 });
    expect(rig.stub.count('convert/file')).toBe(3);
  });

  it('fetches the task of a later run that it ended', async () => {
    const wanted = { ...(await request()), onExisting: 'overwrite' as const };
    const { workflowId } = await rig.client.start(wanted);
    const handle = rig.temporal.workflow.getHandle(workflowId);
    await handle.result();
    const { runId: old } = await handle.describe();
    await writeFile(wanted.source, '# Newer\n');
    const held = rig.stub.hold();
    const newer = await rig.client.start(wanted);
    await until('it converts', async () => (await newer.state()).phase === 'converting');
    await resetWorkflow(rig.temporal, workflowId, 'start', old);
    held.letGo();
    expect(await rig.client.get(workflowId).result()).toMatchObject({
      status: 'succeeded',
      possiblyChargedTwice: false,
    });
    expect(rig.stub.count('convert/file')).toBe(2);
  });

  it('leaves the result of a later run delivered', async () => {
    const wanted = await request();
    const { workflowId } = await rig.client.start(wanted);
    const handle = rig.temporal.workflow.getHandle(workflowId);
    await handle.result();
    const { runId: old } = await handle.describe();
    await writeFile(wanted.source, '# Newer\n');
    const overwriting = { ...wanted, onExisting: 'overwrite' as const };
    expect(await rig.client.convert(overwriting)).toMatchObject({ status: 'succeeded' });
    await resetWorkflow(rig.temporal, workflowId, 'start', old);
    expect(await rig.client.get(workflowId).result()).toMatchObject({ status: 'skipped', recalled: true });
    expect(await rig.client.convert(overwriting)).toMatchObject({ status: 'skipped', recalled: true });
    expect(rig.stub.count('convert/file')).toBe(2);
  });

  it.each([0, 0.2, 0.4, 0.6, 0.8])(
    'recognizes the result that it has delivered if reset to %d of its tasks',
    async (point) => {
      const job = await rig.client.start(await request());
      await job.result();
      expect(['succeeded', 'skipped']).toContain((await reset(job.workflowId, point)).status);
      expect(rig.stub.count('convert/file')).toBe(1);
    },
  );

  it('is not marked if reset to after its submit', async () => {
    const job = await rig.client.start({ ...(await request()), onExisting: 'overwrite' });
    await job.result();
    expect(await reset(job.workflowId, 'latest')).toMatchObject({ possiblyChargedTwice: false });
    expect(rig.stub.count('convert/file')).toBe(1);
  });
});
