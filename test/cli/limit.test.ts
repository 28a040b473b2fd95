import type { ConversionRig } from '../support/conversion-worker';
import { startRig } from '../support/conversion-worker';
import { testTemporalAddress } from '../support/temporal';
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
    expect(shown).toMatchObject({ perSecond: 2.5, reason: 'month end' });
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

  it.each(['0', '-1', 'many'])('refuses %s, which would stop every job or say nothing', async (rate) => {
    const { code, stderr } = await limit('set', '--', rate);
    expect(code).toBe(2);
    expect(stderr).toContain('a number above 0');
  });
});
