import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Client } from '@temporalio/client';
import type { ConversionHandle } from '../../src/client/conversion-handle';
import { FileConversionClient } from '../../src/client/file-conversion-client';
import type { ConversionPolicies } from '../../src/job/types';
import { freePort } from '../../packages/cli/src/dev-server';
import { startProcess, type RunningProcess } from '../../packages/cli/test/fileconv';
import { quickPolicies } from '../support/conversion-worker';
import {
  answerError,
  answerJson,
  answerOutput,
  cut,
  startStubService,
  type StubService,
} from '../support/stub-service';
import { testClient, testTemporalAddress } from '../support/temporal';
import { WorkerProcess } from '../support/worker-process';

export const meteredToken = 'Log+Token/4711=do~not?tell';
export const callbackKey = 'metrics-callback-key-0123456789-abcdef';
/** Part of every source's name; no metric may contain it. */
export const secretName = 'payroll-of-ms-smith';

/** A worker, a receiver and an embedded service as processes with metrics, and jobs on them. */
export interface MeteredStack {
  urls: { worker: string; callbacks: string; service: string };
  /** The service itself, not its metrics. */
  serviceUrl: string;
  /** The receiver's base URL for callbacks. */
  callbacksUrl: string;
  stub: StubService;
  worker: WorkerProcess;
  receiver: RunningProcess;
  temporal: Client;
  /** Starts a job whose source is named after `kind`, which tells the service what to do with it. */
  start: (kind: Kind, policies?: ConversionPolicies, app?: string) => Promise<ConversionHandle>;
  close(): Promise<void>;
}

/** What goes wrong with a job. */
export type Kind =
  | 'fine'
  /** The upload is refused with a documented code. */
  | 'refused'
  /** The upload is refused with an undocumented code. */
  | 'strange'
  /** The first upload gets a proxy's error page. */
  | 'flaky'
  /** The first upload exceeds the rate limit. */
  | 'limited'
  /** As before, with a pause that is longer than any test. */
  | 'paused'
  /** The connection of the first submit is cut. */
  | 'cut'
  /** As before, and then the service calls back. */
  | 'proved'
  /** There are no vCredits. */
  | 'poor'
  /** There are no vCredits for its first request. */
  | 'short';

export async function startMeteredStack({ logLevel = 'info' } = {}): Promise<MeteredStack> {
  const folder = await mkdtemp(path.join(tmpdir(), 'fileconv-metrics-'));
  const stub = await startStubService();
  misbehave(stub);
  const temporal = await testClient();
  const addresses = {
    worker: `127.0.0.1:${await freePort()}`,
    callbacks: `127.0.0.1:${await freePort()}`,
    service: `127.0.0.1:${await freePort()}`,
  };
  const receiver = startProcess(['callbacks', '--json'], {
    cwd: folder,
    timeoutMs: 300_000,
    env: {
      TEMPORAL_ADDRESS: testTemporalAddress(),
      FILECONV_CALLBACKS_PORT: '0',
      FILECONV_CALLBACKS_METRICS_ADDRESS: addresses.callbacks,
      FILECONV_CALLBACKS_KEY_ENV: 'TEST_CALLBACK_KEY',
      FILECONV_LOG_LEVEL: logLevel,
      TEST_CALLBACK_KEY: callbackKey,
    },
  });
  const service = startProcess(['service', '--json'], {
    cwd: folder,
    timeoutMs: 300_000,
    env: { FILECONV_SERVICE_PORT: '0', FILECONV_SERVICE_METRICS_ADDRESS: addresses.service },
  });
  const { url: callbacksUrl } = (await receiver.untilJson()) as { url: string };
  const { url: serviceUrl } = (await service.untilJson()) as { url: string };
  const taskQueue = `metered-${randomUUID()}`;
  const worker = await WorkerProcess.start({
    taskQueue,
    folder,
    apps: { stub: stub.url },
    token: meteredToken,
    env: { FILECONV_LOG_LEVEL: logLevel },
    callbacks: { key: callbackKey, publicBaseUrl: callbacksUrl },
    metricsAddress: addresses.worker,
  });
  const client = new FileConversionClient({ client: temporal, taskQueue, app: 'stub' });
  let started = 0;
  return {
    urls: {
      worker: `http://${addresses.worker}/metrics`,
      callbacks: `http://${addresses.callbacks}/metrics`,
      service: `http://${addresses.service}/metrics`,
    },
    serviceUrl,
    callbacksUrl,
    stub,
    worker,
    receiver,
    temporal,
    async start(kind, policies = {}, app = 'stub') {
      const number = (started += 1);
      const source = path.join(folder, `${secretName}-${kind}-${number}.md`);
      await writeFile(source, '# A report\n');
      const destination = path.join(folder, `${number}.pdf`);
      // A worker that knows of missing vCredits parks all jobs of the same formats, so these have their own.
      const output = ['poor', 'short'].includes(kind) ? 'docx' : 'pdf';
      const waits = { pollAfter: 200, unknownOutcomeWait: 200, submitTimeout: '5 seconds' };
      return client.start({ app, source, output, destination, policies: { ...quickPolicies, ...waits, ...policies } });
    },
    async close() {
      await worker.kill();
      await Promise.all([receiver, service].map(end));
      await temporal.connection.close();
      await stub.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function end({ child, ended }: RunningProcess): Promise<void> {
  child.kill('SIGTERM');
  await ended;
}

/** Every misbehaviour except a lack of vCredits happens once per job. */
function misbehave(stub: StubService): void {
  const done = new Set<string>();
  const isFirst = (connector: string) => !done.has(connector) && done.add(connector);
  stub.on('upload/file', (seen, response) => {
    const name = /filename="([^"]+)"/.exec(seen.body.toString('latin1'))?.[1] ?? '';
    const kind = name.slice(secretName.length + 1).replace(/\.md$/, '');
    if (kind.startsWith('refused')) {
      const error = { code: 'NOT_VALID_EXTENSION', message: `Bearer ${meteredToken} is not known to this service.` };
      answerJson(response, 200, { result: { output: {}, error, warning: {} } });
    } else if (kind.startsWith('strange')) answerError(response, 400, 'CODE_OF_THIS_SERVICE_4711');
    else if (kind.startsWith('flaky') && isFirst(kind)) response.writeHead(502).end(`<html>${meteredToken}`);
    else if (kind.startsWith('paused')) answerError(response, 429, 'TOO_MANY_REQUESTS', { 'retry-after': '600' });
    else if (kind.startsWith('limited') && isFirst(kind))
      answerError(response, 429, 'TOO_MANY_REQUESTS', { 'retry-after': '1' });
    else answerOutput(response, { connector: kind, size: 1 });
  });
  stub.on('convert/file', async (seen, response) => {
    const { connector, callback } = seen.data as { connector: string; callback: string };
    if (connector.startsWith('poor')) answerError(response, 403, 'INSUFFICIENT_VCREDITS');
    else if (connector.startsWith('short') && isFirst(connector)) answerError(response, 403, 'INSUFFICIENT_VCREDITS');
    else if (connector.startsWith('cut') && isFirst(connector)) cut(response);
    else if (connector.startsWith('proved') && isFirst(connector)) {
      cut(response);
      const body = JSON.stringify({ entity: { id: randomUUID(), type: 'task', status: 'completed' } });
      await fetch(callback, { method: 'POST', body });
    } else stub.answerAsAlways(seen, response);
  });
}
