import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ConversionHandle } from '../../../src/client/conversion-handle';
import type { ConversionRequest } from '../../../src/client/job-request';
import { quickPolicies, startRig, type ConversionRig } from '../../../test/support/conversion-worker';
import { answerCompleted, cut } from '../../../test/support/stub-service';
import { testTemporalAddress } from '../../../test/support/temporal';
import { until } from '../../../test/support/until';
import { fileconv, linesOf, newFolder, parseJson, startFileconv, type Ended } from './fileconv';

let rig: ConversionRig;
let cwd: string;

beforeEach(async () => {
  rig = await startRig({ app: 'job-commands' });
  cwd = await newFolder();
});

afterEach(() => rig.close());

const run = (...args: string[]): Promise<Ended> => runWith({}, ...args);
const runWith = (env: Record<string, string>, ...args: string[]): Promise<Ended> =>
  fileconv(['job', ...args], { cwd, env: { TEMPORAL_ADDRESS: testTemporalAddress(), ...env } });

async function start(request: Partial<ConversionRequest> = {}): Promise<ConversionHandle> {
  const source = await rig.source('report.md');
  const destination = path.join(rig.folder, 'report.pdf');
  return rig.client.start({ source, output: 'pdf', destination, policies: quickPolicies, ...request });
}

async function startAndFail(request: Partial<ConversionRequest> = {}): Promise<string> {
  const handle = await start(request);
  await expect(handle.result()).rejects.toThrow();
  return handle.workflowId;
}

const polled = () => until('it is asked after', () => rig.stub.count('task/response') > 0);
const asAlways = (endpoint: string) =>
  rig.stub.on(endpoint, (seen, response) => rig.stub.answerAsAlways(seen, response));
const refuse = (endpoint: string, code = 'FREE_PLAN_DISALLOWED', status = 403) => rig.stub.fail(endpoint, status, code);

/** The value of a field in the first part of `job show`. */
const shown = ({ stdout }: Ended, name: string): string | undefined =>
  linesOf(stdout)
    .find((line) => line.startsWith(`${name} `))
    ?.slice(14);

describe('fileconv job show', () => {
  it('reports the failure of the workflow task, and does not blame a missing worker', async () => {
    const { temporal } = rig;
    const { namespace } = temporal.options;
    const taskQueue = { name: `failing ${cwd}` };
    const job = await temporal.workflow.start('conversionJob', {
      workflowId: cwd,
      taskQueue: taskQueue.name,
      args: [{ app: 'billing', source: { uri: 'file:///in/a.md' }, output: 'pdf' }],
    });
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      const { taskToken } = await temporal.withDeadline(Date.now() + 20_000, () =>
        temporal.workflowService.pollWorkflowTaskQueue({ namespace, taskQueue }),
      );
      const failure = { message: 'BadSearchAttributes: ConversionVCredits' };
      await temporal.workflowService.respondWorkflowTaskFailed({ namespace, taskToken, failure });
    }
    const ended = await run('show', job.workflowId);
    expect(shown(ended, 'Waits for')).toBe(
      'a worker that can run it: its workflow task keeps failing. BadSearchAttributes: ConversionVCredits',
    );
    expect(ended.stdout).toContain(`Its events: temporal workflow show --workflow-id '${cwd}'`);
    await job.terminate();
  });

  it.each([
    ['a cost beyond all numbers', { vcredits: 2 ** 63 }, { status: 'completed' }],
    ['a code without end', { error: { code: 'A'.repeat(5_000), message: 'no' } }, { status: 'failed' }],
  ])('survives %s from the service', async (_what, outcome, expected) => {
    rig.stub.on('task/response', (seen, response) => answerCompleted(response, seen.connector, outcome));
    const handle = await start();
    await handle.result().catch(() => undefined);
    const { stdout } = await run('show', handle.workflowId, '--json');
    expect(parseJson(stdout)).toMatchObject(expected);
    expect(parseJson(stdout)).not.toHaveProperty('vcredits', 2 ** 63);
  });

  it('shows the cost and the output of a finished job', async () => {
    const handle = await start();
    const { taskId, requests } = await handle.result();
    const ended = await run('show', handle.workflowId);
    expect([ended.code, shown(ended, 'Job')]).toEqual([0, `${handle.workflowId} (report.md → pdf)`]);
    expect(shown(ended, 'State')).toMatch(/^completed since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC$/);
    expect(shown(ended, 'Output')).toMatch(/report\.pdf \(9 B, sha256 [0-9a-f]{64}\)$/);
    expect(shown(ended, 'Task')).toBe(taskId);
    expect(shown(ended, 'Spent')).toBe(`${requests} requests, 1 vCredit`);
    expect(shown(ended, 'Temporal UI')).toBeUndefined();
    expect(ended.stdout).not.toContain('fileconv job');
  });

  it('shows what a running job waits for, the last failure and the next attempt', async () => {
    refuse('task/response', 'INTERNAL_SERVER_ERROR', 500);
    const policies = { ...quickPolicies, retryInitialInterval: 50_000, retryMaximumInterval: 50_000 };
    const handle = await start({ policies });
    await until('a poll has failed', async () => (await handle.describe()).raw.pendingActivities?.[0]?.attempt === 2);
    const ended = await run('show', handle.workflowId);
    expect(shown(ended, 'State')).toMatch(/^converting since .* UTC, for /);
    expect(shown(ended, 'Waits for')).toBe('the conversion service of app job-commands');
    expect(shown(ended, 'Attempt')).toMatch(/^2, at \d{4}-.* UTC\)?, in \d+(\.\d)? s$/);
    expect(shown(ended, 'Last failure')).toContain('internal server error');
    expect(shown(ended, 'Worker')).toBeUndefined();
    expect(linesOf(ended.stdout).at(-1)).toBe('What is broken: fileconv doctor --app job-commands');
    const json = parseJson((await run('show', handle.workflowId, '--json')).stdout);
    expect(json).toMatchObject({ phase: 'converting', worker: 'answers', pending: { attempt: 2, underWay: false } });
    await handle.cancel();
  });

  it('names the app whose vCredits a parked job waits for, and the command that resumes it', async () => {
    refuse('convert/file', 'INSUFFICIENT_VCREDITS');
    const handle = await start();
    // During a probe, the job waits for the answer instead.
    let ended: Ended | undefined;
    await until('it is parked and does not ask', async () => {
      ended = await run('show', handle.workflowId);
      return shown(ended, 'Waits for') === 'vCredits of app job-commands';
    });
    if (ended === undefined) throw new Error('nothing is shown');
    expect(shown(ended, 'State')).toMatch(/^parked since /);
    expect(linesOf(ended.stdout).at(-1)).toBe('When vCredits were added: fileconv app ready --app job-commands');
    await handle.cancel();
    await expect(handle.result()).rejects.toMatchObject({ code: 'CANCELLED' });
  });

  it('works without a worker, and says that there is none', async () => {
    const idle = await startRig({ worker: false });
    const handle = await idle.client.start({ source: await idle.source('a.md'), output: 'pdf' });
    const ended = await run('show', handle.workflowId);
    await rig.temporal.workflow.getHandle(handle.workflowId).terminate();
    await idle.close();
    expect(ended.code).toBe(0);
    expect(shown(ended, 'State')).toMatch(/^running since /);
    expect(shown(ended, 'Worker')).toMatch(/^none polls task queue test-/);
    expect(linesOf(ended.stdout).at(-1)).toBe('Start one, or let fileconv doctor tell what is wrong: fileconv worker');
  });

  it('links to the configured Temporal UI of an external Temporal', async () => {
    const { workflowId } = await start();
    const { runId } = await rig.temporal.workflow.getHandle(workflowId).describe();
    const env = { FILECONV_TEMPORAL_UI_URL: 'https://temporal.example.com/ui/' };
    expect(shown(await runWith(env, 'show', workflowId), 'Temporal UI')).toBe(
      `https://temporal.example.com/ui/namespaces/default/workflows/${encodeURIComponent(workflowId)}/${runId}/history`,
    );
  });

  it.each(['show', 'watch', 'cancel', 'retry'])('%s reports an unknown job in one line', async (command) => {
    const ended = await run(command, 'no/such');
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(linesOf(ended.stderr)).toEqual([
      'error: Temporal has no job no/such in namespace default. See: fileconv job list',
    ]);
  });
});

describe('fileconv job watch', () => {
  it('waits for the job and exits like convert: 0 with the file, 1 with the error', async () => {
    const good = await run('watch', (await start()).workflowId);
    expect(good).toMatchObject({ code: 0 });
    expect(good.stdout).toBe(`report.md → pdf: ${path.join(rig.folder, 'report.pdf')} (9 B)\n`);
    refuse('upload/file');
    const bad = await run('watch', await startAndFail({ destination: path.join(rig.folder, 'other.pdf') }), '--json');
    expect(bad.code).toBe(1);
    expect(parseJson(bad.stdout)).toMatchObject({ status: 'failed', error: { code: 'FREE_PLAN_DISALLOWED' } });
  });

  it('leaves the job running when it is interrupted, and says how to come back', async () => {
    refuse('task/response', 'INTERNAL_SERVER_ERROR', 500);
    const handle = await start();
    const watching = startFileconv(['job', 'watch', handle.workflowId], {
      cwd,
      env: { TEMPORAL_ADDRESS: testTemporalAddress() },
    });
    await watching.until(/waiting\./);
    const ended = await watching.end();
    expect(ended.code).toBe(130);
    expect(ended.stderr).toContain(`Come back: fileconv job watch ${handle.workflowId}`);
    asAlways('task/response');
    await expect(handle.result()).resolves.toMatchObject({ status: 'succeeded' });
  });
});

it('fileconv job cancel cancels once, names the task that goes on, and refuses a job that has ended otherwise', async () => {
  refuse('task/response', 'INTERNAL_SERVER_ERROR', 500);
  const handle = await start();
  await polled();
  const first = await run('cancel', handle.workflowId);
  expect(first.code).toBe(0);
  expect(first.stderr).toMatch(/conversion task [0-9a-f-]{36} continues there and may be charged/);
  await expect(handle.result()).rejects.toMatchObject({ code: 'CANCELLED' });
  expect(await run('cancel', handle.workflowId)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('before') as string,
  });
  asAlways('task/response');
  const done = await start({ onExisting: 'overwrite' });
  await done.result();
  const late = await run('cancel', done.workflowId);
  expect(late.code).toBe(1);
  expect(late.stderr).toContain('has ended already (completed)');
});

describe('fileconv job retry', () => {
  it('only repeats the download if the download failed', async () => {
    refuse('download/url');
    const id = await startAndFail({ policies: { ...quickPolicies, parkedDeadline: '1 second' } });
    expect(linesOf((await run('show', id)).stdout).at(-1)).toBe(
      `Run it again (only awaits and downloads its task; nothing is submitted): fileconv job retry ${id}`,
    );
    asAlways('download/url');
    const ended = await run('retry', id, '--json');
    expect(parseJson(ended.stdout)).toMatchObject({ workflowId: id, from: 'converting', possiblyChargedTwice: false });
    expect(await rig.client.get(id).result()).toMatchObject({ status: 'succeeded', possiblyChargedTwice: false });
    expect(await readFile(path.join(rig.folder, 'report.pdf'), 'utf8')).toBe('PK result');
    expect([rig.stub.count('upload/file'), rig.stub.count('convert/file')]).toEqual([1, 1]);
  });

  it('resumes the conversion task of a job that was cancelled while converting', async () => {
    refuse('task/response', 'INTERNAL_SERVER_ERROR', 500);
    const handle = await start();
    await polled();
    await handle.cancel();
    await expect(handle.result()).rejects.toMatchObject({ code: 'CANCELLED' });
    asAlways('task/response');
    const ended = await run('retry', handle.workflowId);
    expect(ended.stdout).toMatch(/it awaits and downloads conversion task [0-9a-f-]{36}; nothing is submitted/);
    expect(await rig.client.get(handle.workflowId).result()).toMatchObject({ status: 'succeeded' });
    expect(rig.stub.count('convert/file')).toBe(1);
  });

  it('restarts a job that failed before any charge', async () => {
    refuse('convert/file');
    const id = await startAndFail();
    asAlways('convert/file');
    expect((await run('retry', id)).stdout).toContain(`Job ${id} runs again from its beginning. See it continue: `);
    expect(await rig.client.get(id).result()).toMatchObject({ possiblyChargedTwice: false });
  });

  it('submits again after an unknown outcome only with --resubmit, and the result says so', async () => {
    rig.stub.on('convert/file', (_seen, response) => cut(response));
    const id = await startAndFail({ policies: { ...quickPolicies, onUnknownOutcome: 'fail' } });
    asAlways('convert/file');
    const refused = await run('retry', id);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(linesOf(refused.stderr)).toEqual([
      expect.stringMatching(/It is not known whether the conversion runs\. .*: fileconv job retry \S+ --resubmit$/),
    ]);
    expect(rig.stub.count('convert/file')).toBe(1);
    expect((await run('retry', id, '--resubmit')).stdout).toContain('possibly charged twice');
    expect(await rig.client.get(id).result()).toMatchObject({ status: 'succeeded', possiblyChargedTwice: true });
    expect(rig.stub.count('convert/file')).toBe(2);
  });

  it('assumes a possible charge if the job was terminated while submitting', async () => {
    let answer = (): void => undefined;
    rig.stub.on('convert/file', (_seen, response) => void (answer = () => cut(response)));
    const handle = await start();
    await until('it is submitted', () => rig.stub.count('convert/file') === 1);
    await rig.temporal.workflow.getHandle(handle.workflowId).terminate('by hand');
    const refused = await run('retry', handle.workflowId);
    answer();
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('--resubmit');
    expect(shown(await run('show', handle.workflowId), 'Error')).toBe(
      'TERMINATED: The job was terminated, by hand or because the workflow that had started it ended.',
    );
  });

  it('refuses a running job and a completed one', async () => {
    refuse('task/response', 'INTERNAL_SERVER_ERROR', 500);
    const handle = await start();
    await polled();
    const running = await run('retry', handle.workflowId);
    expect(running).toMatchObject({ code: 1, stdout: '' });
    expect(running.stderr).toMatch(/^error: Nothing to retry: .* still runs\. See it continue: fileconv job watch /);
    asAlways('task/response');
    await handle.result();
    expect((await run('retry', handle.workflowId)).stderr).toMatch(/has completed/);
  });

  it('with --again replaces its own result, but no file that was edited since', async () => {
    const handle = await start();
    const { workflowId } = handle;
    await handle.result();
    const result = path.join(rig.folder, 'report.pdf');
    expect((await run('retry', workflowId)).stderr).toContain(`fileconv job retry ${workflowId} --again`);
    await run('retry', workflowId, '--again');
    expect(await rig.client.get(workflowId).result()).toMatchObject({
      status: 'succeeded',
      output: { name: 'report.pdf' },
    });
    expect(rig.stub.count('convert/file')).toBe(2);
    await writeFile(result, 'edited by hand');
    await run('retry', workflowId, '--again');
    await expect(rig.client.get(workflowId).result()).rejects.toMatchObject({ code: 'DESTINATION_EXISTS' });
    expect([rig.stub.count('convert/file'), await readFile(result, 'utf8')]).toEqual([2, 'edited by hand']);
  });
});
