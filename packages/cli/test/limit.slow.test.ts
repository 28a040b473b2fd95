import { readTaskQueue } from '../../../src/client/operations/task-queue-workers';
import { startRig, type ConversionRig } from '../../../test/support/conversion-worker';
import { testTemporalAddress } from '../../../test/support/temporal';
import { until } from '../../../test/support/until';
import { fileconv, newFolder, parseJson, removeFolders } from './fileconv';

describe('fileconv limit', () => {
  let rig: ConversionRig;
  let cwd: string;

  beforeAll(async () => {
    rig = await startRig({ obeyCommonLimit: true });
    cwd = await newFolder();
  });
  afterAll(async () => {
    await rig.close();
    await removeFolders();
  });

  const limit = (...args: string[]) => command('limit', ...args);
  const command = (...args: string[]) =>
    fileconv(args, {
      cwd,
      env: { TEMPORAL_ADDRESS: testTemporalAddress(), FILECONV_WORKER_TASK_QUEUE: rig.taskQueue },
    });

  it('is set, shown with its reason, and removed again', async () => {
    const { taskQueue } = rig;
    expect(parseJson((await limit('show', '--json')).stdout)).toEqual({ taskQueue, limit: null });

    const set = await limit('set', '2.5', '--reason', 'month end', '--json');
    expect(set.code).toBe(0);
    const { limit: shown } = parseJson((await limit('show', '--json')).stdout) as { limit: unknown };
    expect(shown).toMatchObject({ perSecond: 2.5, reason: 'month end', disobeyedBy: [] });
    expect((await limit('show')).stdout).toContain('at most 2.5 steps a second since 20');

    expect((await command('doctor')).stdout).toContain('together at most 2.5 steps a second');

    expect((await limit('clear')).stdout).toContain('no limit beyond those of the services');
    expect(parseJson((await limit('show', '--json')).stdout)).toEqual({ taskQueue, limit: null });
  });

  it('holds back all workers that obey it', async () => {
    // One step in 20 seconds, after as many at once as the server's queue has partitions; without the limit 36 come in time.
    expect((await limit('set', '0.05')).code).toBe(0);
    const jobs = await Promise.all(
      Array.from({ length: 12 }, async (_none, index) =>
        rig.client.start({ source: await rig.source(`${index}.md`), output: 'pdf' }),
      ),
    );
    await new Promise((resolve) => setTimeout(resolve, 4_000));
    expect(rig.stub.requests.length).toBeLessThanOrEqual(6);
    expect((await limit('clear')).code).toBe(0);
    await Promise.all(jobs.map((job) => job.result()));
  });

  it('is not said to hold where a worker does not obey it', async () => {
    const other = await startRig();
    const env = { TEMPORAL_ADDRESS: testTemporalAddress(), FILECONV_WORKER_TASK_QUEUE: other.taskQueue };
    await until(
      'its worker polls',
      async () => (await readTaskQueue(other.temporal, other.taskQueue)).identities.length > 0,
    );
    const set = await fileconv(['limit', 'set', '1'], { cwd, env });
    expect(set.stderr).toMatch(/^warning: It does not hold for \S+: start workers again with common_limit = "on"/);
    const { stdout } = await fileconv(['doctor'], { cwd, env });
    expect(stdout).toMatch(/^broken +workers: a limit of 1 steps a second is set, and does not hold$/m);
    await fileconv(['limit', 'clear'], { cwd, env });
    await other.close();
  });

  it.each(['0', '-1', 'many'])('refuses %s, which would stop every job or say nothing', async (rate) => {
    const { code, stderr } = await limit('set', '--', rate);
    expect(code).toBe(2);
    expect(stderr).toContain('a number above 0');
  });
});
