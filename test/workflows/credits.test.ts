import path from 'node:path';
import { restoreCredits } from '../../src/client/restore-credits';
import type { ConversionRig } from '../support/conversion-worker';
import { quickPolicies, startRig } from '../support/conversion-worker';
import { answerError, answerRunning } from '../support/stub-service';
import { until } from '../support/until';

/** Jobs that wait for vCredits, on a real Temporal server. */

const jobs = 30;
const funded = 12;

let rig: ConversionRig;

beforeEach(async () => {
  rig = await startRig({ app: 'short-of-credits' });
});

afterEach(() => rig.close());

/** A service whose app has vCredits for so many conversions. */
function fund(balance: number) {
  const account = { balance, charged: 0 };
  rig.stub.on('convert/file', (_seen, response) => {
    if (account.balance === 0) {
      answerError(response, 403, 'INSUFFICIENT_VCREDITS');
      return;
    }
    account.balance -= 1;
    account.charged += 1;
    answerRunning(response, `task-${account.charged}`);
  });
  return account;
}

let started = 0;

async function start(count: number) {
  const source = await rig.source('report.md');
  return Promise.all(
    Array.from({ length: count }, () =>
      rig.client.start({
        source,
        output: 'pdf',
        destination: path.join(rig.folder, `${(started += 1)}.pdf`),
        policies: quickPolicies,
      }),
    ),
  );
}

async function parked(): Promise<number> {
  const query = `ConversionApp = 'short-of-credits' AND ConversionStatus = 'awaitingCredits' AND ExecutionStatus = 'Running' AND TaskQueue = '${rig.taskQueue}'`;
  return (await rig.temporal.workflow.count(query)).count;
}

it('as many jobs are converted as there are vCredits for; the others park, learn from one, and go on at one command', async () => {
  const account = fund(funded);
  const handles = await start(funded + 2);
  await until('two are parked', async () => (await parked()) === 2, 30_000);
  expect(account.charged).toBe(funded);
  const asked = rig.stub.count('convert/file');
  handles.push(...(await start(jobs - handles.length)));
  await until('the others are parked', async () => (await parked()) === jobs - funded, 30_000);
  // They took the first ones' word for it.
  expect(rig.stub.count('convert/file')).toBe(asked);

  account.balance = jobs;
  const restored = await restoreCredits(rig.temporal, { app: 'short-of-credits' });
  expect(restored).toMatchObject({ signalled: jobs - funded, failed: 0 });
  const results = await Promise.all(handles.map((handle) => handle.result()));
  expect(results.map(({ status }) => status)).toEqual(Array.from({ length: jobs }, () => 'succeeded'));
  expect(results.some(({ possiblyChargedTwice }) => possiblyChargedTwice)).toBe(false);
  expect(account.charged).toBe(jobs);
  expect(await restoreCredits(rig.temporal, { app: 'short-of-credits' })).toMatchObject({ signalled: 0, failed: 0 });
});

it('a job that is told again and again parks again while there are none, and adds little to the history', async () => {
  const account = fund(0);
  const [handle] = await start(1);
  if (!handle) throw new Error('no job');
  await until('it is parked', async () => (await parked()) === 1, 30_000);
  for (let told = 1; told <= 3; told += 1) {
    await handle.creditsRestored();
    await until('it has asked again', () => rig.stub.count('convert/file') === 1 + told, 30_000);
  }
  expect((await handle.state()).phase).toBe('awaitingCredits');
  account.balance = 1;
  await handle.creditsRestored();
  expect(await handle.result()).toMatchObject({ status: 'succeeded', possiblyChargedTwice: false });
  expect(account.charged).toBe(1);
});

it('can be cancelled while it waits', async () => {
  fund(0);
  const [handle] = await start(1);
  await until('it is parked', async () => (await parked()) === 1, 30_000);
  await handle?.cancel();
  await expect(handle?.result()).rejects.toThrow(/cancell?ed/i);
});
