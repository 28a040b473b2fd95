import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { endBatch, planRun, startRun } from '../support/batches';
import { quickPolicies, startRig, type ConversionRig } from '../support/conversion-worker';
import { answerCompleted, answerRunning, type StubService } from '../support/stub-service';
import { until } from '../support/until';

/** Tokens that are replaced while jobs run, with a service that refuses a revoked token at once. */

let folder: string;
let rig: ConversionRig;

beforeEach(async () => (folder = await mkdtemp(path.join(tmpdir(), 'fileconv-tokens-'))));
afterEach(() => rig.close());

function revoke(stub: StubService, ...tokens: string[]): void {
  stub.refuse = ({ token }) => (tokens.includes(token) ? 'INVALID_CREDENTIAL' : undefined);
}

/** Lets the service finish this many conversions. The returned function raises the number. */
function letFinish(count: number) {
  const finished = new Set<string>();
  rig.stub.on('task/response', ({ connector: id }, response) => {
    if (finished.size < count) finished.add(id);
    if (finished.has(id)) answerCompleted(response, id);
    else answerRunning(response, id);
  });
  return { letFinish: (more: number) => void (count = more) };
}

it('a new token in the file during a batch, after which the old one is revoked, fails no file, and each is converted once', async () => {
  const tokenFile = path.join(folder, 'token');
  await writeFile(tokenFile, 'first-token\n');
  rig = await startRig({ token: { tokenFile } });
  const gate = letFinish(2);
  const run = await planRun(rig.folder, 8, { request: { window: 2 } });
  const handle = await startRun(rig.client, run.request);
  await until('some are converted', () => rig.stub.conversions.size === 4);
  // Many editors truncate the file and write it a moment later.
  await writeFile(tokenFile, '');
  gate.letFinish(4);
  await until('some more are converted', () => rig.stub.conversions.size === 6);
  await writeFile(tokenFile, 'other-token\n');
  revoke(rig.stub, 'first-token');
  gate.letFinish(8);
  const { result } = await endBatch(handle, run);
  expect(result).toMatchObject({ status: 'completed', succeeded: 8, failed: 0, possiblyChargedTwice: 0 });
  expect(rig.stub.conversions.size).toBe(8);
  expect(new Set(rig.stub.requests.map(({ token }) => token))).toEqual(new Set(['first-token', 'other-token']));
  expect(rig.stub.requests.at(-1)?.token).toBe('other-token');
});

it.each(['upload/file', 'convert/file', 'task/response', 'download/url/get'])(
  'calls the token function again when %s refuses the token, and continues the same step with the new one',
  async (endpoint) => {
    let [token, asked] = ['first-token', 0];
    rig = await startRig({ token: { token: () => Promise.resolve(((asked += 1), token)) } });
    rig.stub.refuse = (seen) => {
      if (seen.path !== endpoint || seen.token !== 'first-token') return undefined;
      token = 'other-token';
      return 'INVALID_CREDENTIAL';
    };
    const handle = await rig.client.start(await rig.request({ policies: { onUnknownOutcome: 'fail' } }));
    expect(await handle.result()).toMatchObject({ status: 'succeeded', possiblyChargedTwice: false });
    expect([rig.stub.refused.length, rig.stub.conversions.size, asked]).toEqual([1, 1, 2]);
    expect(rig.stub.count('upload/file')).toBe(endpoint === 'upload/file' ? 2 : 1);
    expect(JSON.stringify(await rig.events(handle.workflowId))).not.toMatch(/(first|other)-token/);
  },
);

it('a service that refuses every token gets one request per job, and the token function is hardly called again', async () => {
  let asked = 0;
  const token = () => {
    asked += 1;
    return 'token-of-the-vault';
  };
  rig = await startRig({ token: { token } });
  const convert = async (name: string) =>
    rig.client.convert({ source: await rig.source(name), output: 'pdf', policies: quickPolicies });
  await convert('taken.md');
  revoke(rig.stub, 'token-of-the-vault');
  let arrived = 0;
  // Refuses all of them at the same time, however busy the machine is.
  rig.stub.onArrival('upload/file', () => ((arrived += 1), until('all have come', () => arrived === 8)));
  const ends = await Promise.allSettled(Array.from({ length: 8 }, (_, index) => convert(`${index}.md`)));
  expect(ends).toEqual(ends.map(() => expect.objectContaining({ status: 'rejected' }) as unknown));
  expect(rig.stub.refused).toHaveLength(8);
  expect(asked).toBeLessThan(6);
});

it('a job waits for a token file that does not exist yet', async () => {
  const tokenFile = path.join(folder, 'token');
  rig = await startRig({ token: { tokenFile } });
  const handle = await rig.client.start(await rig.request());
  await until('it has tried', async () => {
    const [pending] = (await handle.describe()).raw.pendingActivities ?? [];
    return pending?.lastFailure?.applicationFailureInfo?.type === 'TOKEN_UNREADABLE';
  });
  await writeFile(tokenFile, 'first-token');
  expect(await handle.result()).toMatchObject({ status: 'succeeded' });
});
