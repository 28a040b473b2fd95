import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { tellReady } from '../../src/client/operations/tell-app';
import { endBatch, planRun, runBatch, startRun } from '../support/batches';
import { startRig } from '../support/conversion-worker';
import { until } from '../support/until';

const items = 80;
const window = 20;
/** FILECONV_TEST_ITEMS=1000 is the long form. */
const unattended = Number(process.env['FILECONV_TEST_ITEMS'] ?? 80);

it('a token that is revoked under a large batch costs at most a window of refused requests, and no file', async () => {
  const app = `revoked-${randomUUID()}`;
  const folder = await mkdtemp(path.join(tmpdir(), 'fileconv-revoked-'));
  const tokenFile = path.join(folder, 'token');
  await writeFile(tokenFile, 'first-token');
  const rig = await startRig({ app, token: { tokenFile } });
  const run = await planRun(rig.folder, items, {
    request: { window, policies: { firstCheckAfter: 20 } },
  });
  const handle = await startRun(rig.client, run.request);
  await until('some are converted', () => rig.stub.conversions.size >= 40);
  rig.stub.refuse = ({ token }) => (token === 'first-token' ? 'INVALID_CREDENTIAL' : undefined);
  await until('the batch says so', async () => (await handle.state()).needsAttention !== undefined);
  await sleep(3_000);
  const state = await handle.state();
  expect(state).toMatchObject({ failed: 0, needsAttention: { code: 'INVALID_CREDENTIAL', app } });
  // One for each item in flight, also for those that were accepted before.
  expect(rig.stub.refused.length).toBeLessThanOrEqual(window);
  expect(rig.stub.conversions.size).toBeLessThan(items);

  await writeFile(tokenFile, 'other-token');
  // Workers wait a second for a file that may be half written; what starts before that is refused, and held again.
  await sleep(1_500);
  await tellReady(rig.temporal, { app });
  const { result } = await endBatch(handle, run);
  expect(result).toMatchObject({ status: 'completed', succeeded: items, failed: 0, possiblyChargedTwice: 0 });
  expect(rig.stub.conversions.size).toBe(items);
  await rig.close();
  await rm(folder, { recursive: true });
});

it('an account that is refused twice costs a batch a minute, and no file', async () => {
  const rig = await startRig({ app: `refused-${randomUUID()}` });
  let left = 2;
  rig.stub.refuse = ({ path: at }) => (at === 'upload/file' && left-- > 0 ? 'INVALID_CREDENTIAL' : undefined);
  const run = await planRun(rig.folder, unattended, { request: { window: 40, policies: { firstCheckAfter: 20 } } });
  const { result } = await runBatch(rig.client, run);
  expect(result).toMatchObject({ status: 'completed', succeeded: unattended, failed: 0, possiblyChargedTwice: 0 });
  expect(result.durationMs).toBeLessThan(5 * 60_000);
  expect(rig.stub.refused).toHaveLength(2);
  expect(rig.stub.conversions.size).toBe(unattended);
  await rig.close();
});
