import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { endBatch, planRun } from '../support/batches';
import { quickPolicies, startRig, type ConversionRig } from '../support/conversion-worker';
import type { StubService } from '../support/stub-service';
import { until } from '../support/until';

/** Tokens that are replaced while jobs run, against a service that refuses a revoked one from one moment to the next. */

let folder: string;
let rig: ConversionRig;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'fileconv-tokens-'));
});

afterEach(async () => {
  await rig.close();
  await rm(folder, { recursive: true, force: true });
});

function revoke(stub: StubService, ...tokens: string[]): void {
  stub.refuse = ({ token }) => (tokens.includes(token) ? 'INVALID_CREDENTIAL' : undefined);
}

it('a new token in the file during a batch, and the old one revoked: no file fails, and each is converted once', async () => {
  const tokenFile = path.join(folder, 'token');
  await writeFile(tokenFile, 'first-token\n');
  rig = await startRig({ token: { tokenFile } });
  const run = await planRun(rig.folder, 60, { request: { window: 10 } });
  const handle = await rig.client.startBatch(run.request);
  await until('some are converted', () => rig.stub.count('convert/file') >= 15);
  // As an editor does it: emptied, and written a moment later.
  await writeFile(tokenFile, '');
  await sleep(300);
  await writeFile(tokenFile, 'other-token\n');
  revoke(rig.stub, 'first-token');
  const { result } = await endBatch(handle, run);
  expect(result).toMatchObject({ status: 'completed', succeeded: 60, failed: 0, possiblyChargedTwice: 0 });
  expect(rig.stub.conversions.size).toBe(60);
  expect(new Set(rig.stub.requests.map(({ token }) => token))).toEqual(new Set(['first-token', 'other-token']));
  expect(rig.stub.requests.at(-1)?.token).toBe('other-token');
});

it.each(['upload/file', 'convert/file', 'task/response', 'download/url', 'download/url/get'])(
  'after a refusal of the token by %s the function is asked again, and the same step continues with another one',
  async (endpoint) => {
    let [token, asked] = ['first-token', 0];
    rig = await startRig({ token: { token: () => Promise.resolve(((asked += 1), token)) } });
    rig.stub.refuse = (seen) => {
      if (seen.path !== endpoint || seen.token !== 'first-token') return undefined;
      token = 'other-token';
      return 'INVALID_CREDENTIAL';
    };
    const handle = await rig.client.start({
      source: await rig.source('a.md'),
      output: 'pdf',
      destination: `${folder}/`,
      policies: { ...quickPolicies, onUnknownOutcome: 'fail' },
    });
    expect(await handle.result()).toMatchObject({ status: 'succeeded', possiblyChargedTwice: false });
    expect([rig.stub.refused.length, rig.stub.conversions.size, asked]).toEqual([1, 1, 2]);
    expect(rig.stub.count('upload/file')).toBe(endpoint === 'upload/file' ? 2 : 1);
    const { events } = await rig.temporal.workflow.getHandle(handle.workflowId).fetchHistory();
    expect(JSON.stringify(events)).not.toMatch(/(first|other)-token/);
  },
);

it('a service that refuses every token is asked once for each job, and the function hardly more than once in all', async () => {
  let asked = 0;
  const token = () => {
    asked += 1;
    return 'token-of-the-vault';
  };
  rig = await startRig({ token: { token } });
  revoke(rig.stub, 'token-of-the-vault');
  const jobs = Array.from({ length: 20 }, async (_, index) =>
    rig.client.convert({ source: await rig.source(`${index}.md`), output: 'pdf', policies: quickPolicies }),
  );
  const ends = await Promise.allSettled(jobs);
  expect(ends).toEqual(ends.map(() => expect.objectContaining({ status: 'rejected' }) as unknown));
  expect(rig.stub.refused).toHaveLength(20);
  expect(asked).toBeLessThan(6);
});

it('a job waits for a token file that is not there yet', async () => {
  const tokenFile = path.join(folder, 'token');
  rig = await startRig({ token: { tokenFile } });
  const handle = await rig.client.start({ source: await rig.source('a.md'), output: 'pdf', policies: quickPolicies });
  await until('it has tried', async () => {
    const [pending] = (await handle.describe()).raw.pendingActivities ?? [];
    return pending?.lastFailure?.applicationFailureInfo?.type === 'TOKEN_UNREADABLE';
  });
  await writeFile(tokenFile, 'first-token');
  expect(await handle.result()).toMatchObject({ status: 'succeeded' });
});
