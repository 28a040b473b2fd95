import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Client } from '@temporalio/client';
import { z } from 'zod';
import type { ConversionHandle } from '../../src/client/conversion-handle';
import { FileConversionClient } from '../../src/client/file-conversion-client';
import { activityNames, appReadySignal } from '../../src/job/names';
import type { ConversionPolicies } from '../../src/job/types';
import { linesOf, startProcess, type RunningProcess } from '../../packages/cli/test/fileconv';
import { quickPolicies } from '../support/conversion-worker';
import { SecretTraces } from '../support/secret-traces';
import { answerError, answerJson, cut, startStubService, type StubService } from '../support/stub-service';
import { testClient, testTemporalAddress } from '../support/temporal';
import { until } from '../support/until';
import { WorkerProcess } from '../support/worker-process';

/** The logs of a real worker and a real receiver that tell all they can, after jobs that met what an operator wants to know of. */

const token = 'Log+Token/4711=do~not?tell';
const callbackKey = 'logs-callback-key-0123456789-abcdefghij';

const lineSchema = z.looseObject({ level: z.string(), time: z.iso.datetime(), process: z.string(), msg: z.string() });
type Line = z.infer<typeof lineSchema>;

let folder: string;
let stub: StubService;
let temporal: Client;
let receiver: RunningProcess;
let worker: WorkerProcess;
let workerText = '';
let workerLines: Line[] = [];
let receiverLines: Line[] = [];
const jobs: Record<string, ConversionHandle> = {};

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'fileconv-logs-'));
  stub = await startStubService();
  misbehave(stub);
  temporal = await testClient();
  receiver = startProcess(['callbacks', '--json'], {
    cwd: folder,
    timeoutMs: 120_000,
    env: {
      TEMPORAL_ADDRESS: testTemporalAddress(),
      FILECONV_CALLBACKS_PORT: '0',
      FILECONV_CALLBACKS_KEY_ENV: 'TEST_CALLBACK_KEY',
      FILECONV_LOG_LEVEL: 'trace',
      TEST_CALLBACK_KEY: callbackKey,
    },
  });
  const { url: publicBaseUrl } = (await receiver.untilJson()) as { url: string };
  const taskQueue = `logs-${randomUUID()}`;
  worker = await WorkerProcess.start({
    taskQueue,
    folder,
    apps: { stub: stub.url },
    token,
    callbacks: { key: callbackKey, publicBaseUrl },
    env: { FILECONV_LOG_LEVEL: 'trace' },
  });
  const client = new FileConversionClient({ client: temporal, taskQueue, app: 'stub' });
  async function start(kind: string, policies: ConversionPolicies = {}): Promise<void> {
    const source = path.join(folder, `${kind}.md`);
    await writeFile(source, '# A report\n');
    const waits = { pollAfter: 200, unknownOutcomeWait: 200 };
    // A worker that has learnt of missing vCredits asks for none of the same formats.
    const output = kind === 'poor' ? 'docx' : 'pdf';
    const destination = path.join(folder, `${kind}.${output}`);
    const request = { source, output, destination, policies: { ...quickPolicies, ...waits, ...policies } };
    jobs[kind] = await client.start(request);
  }
  await start('poor');
  await Promise.all(['fine', 'refused', 'flaky'].map((kind) => start(kind)));
  await start('cut', { onUnknownOutcome: 'fail' });
  await until('the job is parked', async () => (await jobs['poor']?.state())?.phase === 'parked');
  await temporal.workflow.getHandle(jobs['poor']?.workflowId ?? '').signal(appReadySignal);
  await Promise.allSettled(Object.values(jobs).map((job) => job.result()));
  // The pause that this one is told of is longer than this test.
  await start('limited');
  await until('the service wanted a pause', async () =>
    (await readFile(worker.logFile, 'utf8')).includes('wants a pause'),
  );
  await jobs['limited']?.cancel();
  await jobs['limited']?.result().catch(() => undefined);
  // Somebody who guesses.
  await fetch(`${publicBaseUrl}/am9i.nonce.${'x'.repeat(43)}`, { method: 'POST' });
  await worker.drain();
  receiver.child.kill('SIGTERM');
  await receiver.ended;
  workerText = await readFile(worker.logFile, 'utf8');
  workerLines = linesOf(workerText).map(parseLine);
  receiverLines = linesOf(receiver.stderr()).map(parseLine);
});

afterAll(async () => {
  await worker.kill();
  receiver.child.kill('SIGTERM');
  await receiver.ended;
  await temporal.connection.close();
  await stub.close();
  await rm(folder, { recursive: true, force: true });
});

it('every line of a worker and of a receiver is JSON, with level, time, process and message', () => {
  expect(new Set(workerLines.map((line) => line.process))).toEqual(new Set(['worker']));
  expect(new Set(receiverLines.map((line) => line.process))).toEqual(new Set(['callbacks']));
  // All they can tell: this level is one that shows whole activations.
  expect(workerLines.filter(({ level }) => level === 'trace').length).toBeGreaterThan(20);
});

it.each([
  ['poor', 'Job parked', 'info', {}],
  ['poor', 'Job continues', 'info', { parkedSeconds: expect.any(Number) as number }],
  ['refused', 'Job failed', 'warn', { code: 'NOT_VALID_EXTENSION', phase: 'uploading', endpoint: 'v1/upload/file' }],
  ['cut', 'Outcome of a submit was unknown', 'warn', { decision: 'failed' }],
  ['cut', 'Job failed', 'warn', { code: 'OUTCOME_UNKNOWN', phase: 'submitting' }],
])('the job that is %s tells once: %s', (kind, message, level, fields) => {
  const { workflowId } = jobs[kind] ?? {};
  const told = workerLines.filter(({ msg, ...line }) => msg === message && line['workflowId'] === workflowId);
  expect(told).toEqual([
    expect.objectContaining({
      level,
      app: 'stub',
      workflowType: 'conversionJob',
      runId: expect.any(String) as string,
      ...fields,
    }),
  ]);
});

it.each([
  ['flaky', 'Activity failed', { activityType: activityNames.uploadFile, attempt: 1, code: 'HTTP_502' }],
  [
    'limited',
    'The service wants a pause',
    { activityType: activityNames.uploadFile, code: 'TOO_MANY_REQUESTS', httpStatus: 429, retryAfterSeconds: 600 },
  ],
])('a step of the job that is %s tells: %s', (kind, message, fields) => {
  const { workflowId } = jobs[kind] ?? {};
  const told = workerLines.filter(({ msg, ...line }) => msg === message && line['workflowId'] === workflowId);
  expect(told).toEqual([
    expect.objectContaining({ level: 'warn', app: 'stub', runId: expect.any(String) as string, ...fields }),
  ]);
});

it('the SDK does not say again at level warn that a job failed', () => {
  const said = workerLines.filter(({ msg }) => msg === 'Workflow failed');
  expect(said.map(({ level }) => level)).toEqual(['debug', 'debug']);
});

it('a job that goes as planned says nothing at level info', () => {
  const { workflowId } = jobs['fine'] ?? {};
  const own = workerLines.filter((line) => line['workflowId'] === workflowId);
  expect(own.length).toBeGreaterThan(0);
  expect(own.filter(({ level }) => !['debug', 'trace'].includes(level))).toEqual([]);
});

it('a receiver tells at level debug what it answered, and for which job', () => {
  const answered = receiverLines.filter(({ msg }) => msg === 'Callback answered');
  const { workflowId } = jobs['fine'] ?? {};
  expect(answered).toContainEqual(expect.objectContaining({ level: 'debug', status: 204, workflowId }));
  expect(answered).toContainEqual(expect.objectContaining({ level: 'debug', status: 401 }));
});

it('no line holds the token, an Authorization header, the callback key, or anything of a callback URL but the job', () => {
  const callbacks = stub.requests.flatMap(({ data }) =>
    typeof data['callback'] === 'string' ? [data['callback']] : [],
  );
  expect(callbacks.length).toBeGreaterThan(2);
  const parts = callbacks.flatMap((url) => url.split('/').at(-1)?.split('.').slice(1) ?? []);
  const secrets = [token, callbackKey, ...parts];
  const text = workerText + receiver.stderr();
  expect(secrets.filter((secret) => new SecretTraces(secret).find(text) !== undefined)).toEqual([]);
  expect(text).not.toMatch(/authorization|bearer (?!\*{8})/i);
  // The service has said it; so there was something to keep out.
  expect(text).toContain('not known to this service');
});

function parseLine(line: string): Line {
  return lineSchema.parse(JSON.parse(line));
}

/** Every misbehaviour happens once a job. */
function misbehave(service: StubService): void {
  const done = new Set<string>();
  const isFirst = (kind: string) => !done.has(kind) && done.add(kind);
  service.on('upload/file', (seen, response) => {
    const kind = /filename="([^"]+)\.md"/.exec(seen.body.toString('latin1'))?.[1] ?? '';
    if (kind === 'refused') {
      const error = { code: 'NOT_VALID_EXTENSION', message: `Bearer ${token} is not known to this service.` };
      answerJson(response, 200, { result: { output: {}, error, warning: {} } });
    } else if (kind === 'flaky' && isFirst(kind)) response.writeHead(502).end(`<html>${token}`);
    else if (kind === 'limited') answerError(response, 429, 'TOO_MANY_REQUESTS', { 'retry-after': '600' });
    else answerJson(response, 200, { result: { output: { connector: kind, size: 1 }, error: {}, warning: {} } });
  });
  service.on('convert/file', async (seen, response) => {
    const { connector, callback } = seen.data as { connector: string; callback: string };
    if (connector === 'poor' && isFirst(connector)) answerError(response, 403, 'INSUFFICIENT_VCREDITS');
    else if (connector === 'cut') cut(response);
    else {
      service.answerAsAlways(seen, response);
      await fetch(callback, { method: 'POST', body: '{}' });
    }
  });
}
