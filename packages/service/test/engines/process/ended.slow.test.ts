import { execFileSync } from 'node:child_process';
import { until } from '../../../../../test/support/until';
import { engineNames } from '../../../src/engines/engine';
import { conversionProcess, processesBelow } from '../../processes';
import { createApp, createDataDir, startTestService, type TestClient } from '../../support';
import { hugePng } from '../bombs';
import { withPrograms } from '../with-packages';

/** Conversions killed or slowed down from outside: the file is not to blame. */

const MiB = 1024 * 1024;

/** Takes at least a second. */
const slow = { name: 'slow.png', data: hugePng(1_500) };

const conversionProcesses = () => processesBelow(process.pid, conversionProcess);

async function killTheOneThat(client: TestClient, connector: string): Promise<number> {
  let pid: number | undefined;
  await until('it is being converted', async () => {
    const { output } = await client.post('convert/status', { connector });
    [pid] = conversionProcesses();
    return output.status === 'pending' && pid !== undefined;
  });
  process.kill(pid ?? 0, 'SIGKILL');
  return pid ?? 0;
}

const submit = async (client: TestClient, file = slow, output = 'avif'): Promise<string> =>
  client.startConversion(await client.upload(file.name, file.data), output);

describe('a conversion process that something kills', () => {
  it('during a conversion, ten times: the file is converted each time', async () => {
    const { client, stop } = await startTestService({ conversionConcurrency: 1 });
    for (let time = 0; time < 10; time += 1) {
      const id = await submit(client);
      const pid = await killTheOneThat(client, id);
      await until('it is gone', () => !conversionProcesses().includes(pid));
      expect((await client.waitForTask(id)).result).toMatchObject({ output: { status: 'successful' }, error: {} });
    }
    await stop();
  });

  it('at every attempt: INTERNAL_SERVER_ERROR without a charge', async () => {
    const testApp = createApp();
    const app = { ...testApp.app, vcredits: 10, prices: { '*': 3 } };
    const { client, logged, stop } = await startTestService({ conversionConcurrency: 1 }, { ...testApp, app });
    const id = await submit(client);
    let killed = 0;
    await until('it is given up', async () => {
      const { output } = await client.post('task/response', { connector: id });
      if (output.entity?.status === 'completed') return true;
      for (const pid of conversionProcesses()) {
        try {
          process.kill(pid, 'SIGKILL');
          killed += 1;
        } catch {
          // The process has already ended.
        }
      }
      return false;
    });
    const { entity, result } = await client.waitForTask(id);
    expect(result.error).toMatchObject({ code: 'INTERNAL_SERVER_ERROR' });
    expect(result.error.message).toMatch(/^Something on this machine killed the conversion 5 times/);
    expect(entity['vcredits']).toBe(0);
    expect(killed).toBeGreaterThanOrEqual(5);
    expect(logged.filter((line) => line.includes('(killed) and is tried again alone'))).toHaveLength(4);
    await stop();
  });
});

it('retries a timed-out conversion once, which succeeds if only the machine was slow', async () => {
  const { client, logged, stop } = await startTestService({ conversionConcurrency: 1, conversionTimeoutMs: 10_000 });
  const small = { name: 'small.png', data: hugePng(10) };
  await client.convert(small, 'avif');
  // The pool gives the next conversion to the process of the first one.
  for (const pid of conversionProcesses()) process.kill(pid, 'SIGSTOP');
  const id = await submit(client, small);
  expect((await client.waitForTask(id)).result).toMatchObject({ output: { status: 'successful' }, error: {} });
  expect(logged.join()).toContain('(timedOut) and is tried again alone');
  await stop();
});

it('remembers over a restart that a conversion took too long, which would else delay others after each start', async () => {
  const testApp = createApp();
  const service = {
    dataDir: await createDataDir(),
    apps: [testApp.app],
    conversionConcurrency: 1,
    conversionTimeoutMs: 500,
  };
  const before = await startTestService(service, testApp);
  const id = await submit(before.client);
  await until('it took too long', () => before.logged.join().includes('(timedOut) and is tried again alone'));
  await before.service.close();

  const { client, logged, stop } = await startTestService(service, testApp);
  const { error } = (await client.waitForTask(id)).result;
  expect(error.message).toContain('took longer than 0.5 s and was ended, the second time while no other ran');
  expect(logged.join()).not.toContain('is tried again');
  await stop();
});

it('fails a conversion over the memory limit at the first attempt, with the figure', async () => {
  const limits = { conversionConcurrency: 1, maxConversionMemoryBytes: 128 * MiB };
  const { client, logged, stop } = await startTestService(limits);
  const { error } = await client.convert({ name: 'large.png', data: hugePng(11_000) }, 'avif');
  expect(error.code).toBe('FAILED_CONVERT');
  expect(error.message).toMatch(
    /needs more than the 128 MiB of memory that it may use: it had (129|1[3-9]\d|[2-9]\d\d) MiB/,
  );
  expect(logged.join()).not.toContain('tried again');
  await stop();
});

withPrograms(['ffmpeg'], () => {
  it('enforces the limit of written bytes, and names the figure', async () => {
    const silence = execFileSync(
      'ffmpeg',
      ['-v', 'error', '-f', 'lavfi', '-i', 'anullsrc=r=44100', '-t', '3600', '-f', 'flac', '-'],
      { maxBuffer: 2 ** 28 },
    );
    const limits = { conversionConcurrency: 1, maxStoredBytes: 100 * MiB };
    const { client, stop } = await startTestService({ ...limits, engines: engineNames });
    const { error } = await client.convert({ name: 'silence.flac', data: silence }, 'wav');
    expect(error).toMatchObject({ code: 'FAILED_CONVERT' });
    expect(error.message).toMatch(/writes more than the 100 MiB that it may/);
    await stop();
  });
});
