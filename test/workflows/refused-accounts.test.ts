import { endBatch, runBatch, startRun, sumOf } from '../support/batches';
import {
  patient,
  planRefused,
  refuseAfter,
  refusedRigOfEachTest,
  sayReady,
  untilListed,
  untilRefused,
} from '../support/refused-account';
import { answerError } from '../support/stub-service';
import { until } from '../support/until';

/** Jobs and batches whose account the service suddenly refuses and later accepts again. */

const rig = refusedRigOfEachTest();

it('a refused account halts the batch: at most a window of requests is refused, no file fails, and one signal resumes all', async () => {
  const account = refuseAfter(rig, 2);
  const run = await planRefused(rig, 8, { window: 3 });
  const handle = await startRun(rig.client, run.request);
  const state = await untilRefused(handle);
  expect(state).toMatchObject({
    status: 'running',
    succeeded: 2,
    failed: 0,
    needsAttention: { code: 'INVALID_CREDENTIAL', app: rig.app },
  });
  expect(sumOf(state)).toBe(8);
  expect(state.needsAttention?.message).toMatch(/INVALID_CREDENTIAL \(HTTP 403\)/);
  expect(state.needsAttention?.message).toMatch(`continues by itself; at once: fileconv app ready --app ${rig.app}`);
  expect(rig.stub.refused.length).toBeLessThanOrEqual(3);
  const details = await rig.details(run.name);
  expect(details).toContain('**Needs attention**: starts no job as long as one waits');
  expect(details).toContain('`INVALID_CREDENTIAL`');

  account.mend();
  await sayReady(rig, handle);
  const { result, results } = await endBatch(handle, run);
  expect(result).toMatchObject({ status: 'completed', succeeded: 8, failed: 0, possiblyChargedTwice: 0 });
  expect([result.needsAttention, rig.stub.conversions.size]).toEqual([undefined, 8]);
  expect(result.requests).toBe(rig.stub.requests.length);
  expect(results.map(({ status, charge }) => `${status} ${charge ?? ''}`)).toEqual(results.map(() => 'succeeded yes'));
});

it('a batch with a distant next probe continues as soon as the service accepts another job of its app', async () => {
  const account = refuseAfter(rig, 0);
  const run = await planRefused(rig, 4, { window: 2 });
  const handle = await startRun(rig.client, run.request);
  await untilRefused(handle);
  await untilListed(rig, handle);
  account.mend();
  await rig.client.convert(await rig.request({ policies: patient }));
  expect((await endBatch(handle, run)).result).toMatchObject({ status: 'completed', succeeded: 4 });
  expect(rig.stub.conversions.size).toBe(5);
});

it.each(['upload/file', 'convert/file', 'task/response', 'download/url'])(
  'a job that parks when refused at %s says so, and continues on its own',
  async (endpoint) => {
    const account = { isRefused: true };
    rig.stub.refuse = ({ path: at }) => (at === endpoint && account.isRefused ? 'INVALID_CREDENTIAL' : undefined);
    const handle = await rig.client.start(await rig.request({ policies: { onRefusedAccount: 'park' } }));
    await until('it is parked', async () => (await handle.state()).phase === 'parked');
    expect(await handle.state()).toMatchObject({ parkedFor: 'account' });
    await until('it has asked again', () => rig.stub.refused.length > 1);
    account.isRefused = false;
    const result = await handle.result();
    expect(result).toMatchObject({ status: 'succeeded', possiblyChargedTwice: false });
    expect(result.requests).toBe(rig.stub.requests.length);
    expect(rig.stub.conversions.size).toBe(1);
  },
);

it('a single job fails at once and says what to change, unless its conversion is paid for', async () => {
  rig.stub.refuse = () => 'INVALID_CREDENTIAL';
  const job = await rig.request({ policies: patient });
  await expect(rig.client.convert(job)).rejects.toMatchObject({
    code: 'INVALID_CREDENTIAL',
    message: expect.stringContaining('Check the account, the App ID and the token') as string,
  });
  expect(rig.stub.requests).toHaveLength(1);
  rig.stub.refuse = ({ path: at }) => (at === 'task/response' ? 'INVALID_CREDENTIAL' : undefined);
  const paid = await rig.client.start(job);
  await until('it is parked', async () => (await paid.state()).parkedFor === 'account');
  rig.stub.refuse = () => undefined;
  await paid.appReady();
  expect(await paid.result()).toMatchObject({ status: 'succeeded' });
});

it('a job whose refusal was in flight when the app was declared ready asks again at once', async () => {
  const late = { isOut: false };
  rig.stub.on('upload/file', async (seen, response) => {
    if (late.isOut) rig.stub.answerAsAlways(seen, response);
    else {
      await until('the app is said to be ready', () => late.isOut);
      answerError(response, 403, 'INVALID_CREDENTIAL');
    }
  });
  const policies = { ...patient, onRefusedAccount: 'park' } as const;
  const handle = await rig.client.start(await rig.request({ policies, destination: undefined }));
  await until('it asks', () => rig.stub.count('upload/file') === 1);
  await handle.appReady();
  late.isOut = true;
  expect(await handle.result()).toMatchObject({ status: 'succeeded', requests: 4 });
});

it('jobs of a batch with onRefusedAccount: fail end with the error of their account', async () => {
  refuseAfter(rig, 0);
  const run = await planRefused(rig, 2, { policies: { ...patient, onRefusedAccount: 'fail' } });
  expect((await runBatch(rig.client, run)).result).toMatchObject({ failures: { INVALID_CREDENTIAL: 2 } });
});

it('a code that concerns one file fails that file only', async () => {
  rig.stub.refuse = ({ path: at, body }) =>
    at === 'upload/file' && body.includes('Report 3\n') ? 'ONLY_DEVELOPMENT_FILE' : undefined;
  const { result } = await runBatch(rig.client, await planRefused(rig, 4, { window: 2 }));
  expect(result).toMatchObject({ succeeded: 3, failed: 1, failures: { ONLY_DEVELOPMENT_FILE: 1 } });
});
