import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import {
  defaultCacheDir,
  obtainTemporalCli,
  startTemporalServer,
  type RunningTemporalServer,
} from '../../packages/cli/src/dev-server';
import { deliveryOf } from '../../packages/service/test/callbacks/receiver';
import { startTestService, tinySvg } from '../../packages/service/test/support';
import { parseCallbackKeys } from '../../src/callbacks/callback-url';
import { createSignalJob, startCallbackReceiver, type CallbackReceiver } from '../../src/callbacks/receiver';
import { FileConversionClient } from '../../src/client/file-conversion-client';
import { callbackKeyText } from '../support/calling-back';
import { quickPolicies } from '../support/conversion-worker';
import { stubAppId, stubToken } from '../support/stub-service';
import { until } from '../support/until';
import { WorkerProcess } from '../support/worker-process';

/** The real service calls back while the Temporal server is down, which then comes back on its port with its database. */

let folder: string;
let cliPath: string;
let server: RunningTemporalServer;
let temporal: Client;
let receiver: CallbackReceiver;
/** Resolves when the job waits for its callback; callbacks that are there before are held until it does. */
let jobWaits: () => void;
let isTemporalDown: Promise<void>;
let service: Awaited<ReturnType<typeof startTestService>> | undefined;
let worker: WorkerProcess | undefined;

beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'fileconv-temporal-down-'));
  cliPath = await obtainTemporalCli({
    env: process.env,
    cacheDir: defaultCacheDir(process.env, os.homedir()),
  });
  server = await startServer();
  temporal = new Client({ connection: await Connection.connect({ address: server.address }) });
  isTemporalDown = new Promise<void>((resolve) => (jobWaits = resolve)).then(() => server.stop());
  const signalJob = createSignalJob(temporal, 1_000);
  receiver = await startCallbackReceiver({
    keys: parseCallbackKeys(callbackKeyText),
    signalJob: async (workflowId, arrival) => {
      await isTemporalDown;
      return signalJob(workflowId, arrival);
    },
  });
});

afterEach(async () => {
  await worker?.kill();
  await receiver.close();
  await service?.stop();
  await temporal.connection.close();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

function startServer(port?: number): Promise<RunningTemporalServer> {
  return startTemporalServer({
    cliPath,
    env: process.env,
    dbFilename: path.join(folder, 'temporal.db'),
    uiPort: false,
    ...(port !== undefined && { port }),
  });
}

async function startJob() {
  const tokenSha256 = createHash('sha256').update(stubToken).digest('hex');
  const hosts = ['127.0.0.1'];
  const app = { name: 'real', appId: stubAppId, tokenSha256, callbackDomains: hosts, privateCallbackHosts: hosts };
  const callbacks = { firstRetryMs: 500, maxRetryMs: 1_000, maxAttempts: 100 };
  service = await startTestService({ callbacks }, { app, token: stubToken });
  worker = await WorkerProcess.start({
    taskQueue: 'file-conversion',
    folder,
    apps: { real: service.service.url },
    temporalAddress: server.address,
    callbacks: { key: callbackKeyText, publicBaseUrl: receiver.url },
  });
  const source = path.join(folder, 'logo.svg');
  await writeFile(source, tinySvg);
  const client = new FileConversionClient({ client: temporal, app: 'real' });
  const destination = path.join(folder, 'logo.png');
  const handle = await client.start({
    source,
    output: 'png',
    destination,
    policies: { ...quickPolicies, pollAfter: '10 minutes' },
  });
  await until('the job waits', async () => (await handle.state()).phase === 'converting');
  const { taskId = '' } = await handle.state();
  jobWaits();
  await isTemporalDown;
  return { handle, delivery: () => deliveryOf(service?.dataDir ?? '', taskId) };
}

it('answers 503 while Temporal is down, and the service calls again until the job continues', async () => {
  const { handle, delivery } = await startJob();
  await until('it was refused twice', () => (delivery()?.attempts ?? 0) >= 2);
  expect(delivery()).toMatchObject({ state: 'pending', problem: 'HTTP 503' });
  server = await startServer(Number(server.address.split(':')[1]));
  // Nothing but a callback could have ended the wait.
  expect(await handle.result()).toMatchObject({ status: 'succeeded', requests: 5, possiblyChargedTwice: false });
  await until('the callback is delivered', () => delivery()?.state === 'delivered');
});
