import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import type { ConversionHandle } from '../../src/client/conversion-handle';
import { activityNames, appReadySignal } from '../../src/job/names';
import type { ConversionPolicies } from '../../src/job/types';
import { linesOf } from '../../packages/cli/test/fileconv';
import { SecretTraces } from '../support/secret-traces';
import { until } from '../support/until';
import { callbackKey, meteredToken, startMeteredStack, type Kind, type MeteredStack } from './metered-stack';

/** The logs of a real worker and a real receiver at the most verbose level, after jobs of interest to an operator. */

const lineSchema = z.looseObject({ level: z.string(), time: z.iso.datetime(), process: z.string(), msg: z.string() });
type Line = z.infer<typeof lineSchema>;

let stack: MeteredStack;
let workerText = '';
let workerLines: Line[] = [];
let receiverLines: Line[] = [];
const jobs = new Map<Kind, ConversionHandle>();

beforeAll(async () => {
  stack = await startMeteredStack({ logLevel: 'trace' });
  const { temporal, worker, receiver } = stack;
  async function start(kind: Kind, policies?: ConversionPolicies): Promise<ConversionHandle> {
    const job = await stack.start(kind, policies);
    jobs.set(kind, job);
    return job;
  }
  const short = await start('short');
  const others = [
    start('fine'),
    start('refused'),
    start('flaky'),
    start('proved'),
    start('cut', { onUnknownOutcome: 'fail' }),
  ];
  await until('the job is parked', async () => (await short.state()).phase === 'parked');
  await temporal.workflow.getHandle(short.workflowId).signal(appReadySignal);
  await Promise.allSettled([short, ...(await Promise.all(others))].map((job) => job.result()));
  const paused = await start('paused');
  await until('the service wanted a pause', async () =>
    (await readFile(worker.logFile, 'utf8')).includes('wants a pause'),
  );
  await paused.cancel();
  await paused.result().catch(() => undefined);
  // A forged callback.
  await fetch(`${stack.callbacksUrl}/am9i.nonce.${'x'.repeat(43)}`, { method: 'POST' });
  await worker.drain();
  await receiver.end('SIGTERM');
  workerText = await readFile(worker.logFile, 'utf8');
  workerLines = linesOf(workerText).map(parseLine);
  receiverLines = linesOf(receiver.stderr()).map(parseLine);
});

afterAll(() => stack.close());

const linesOfJob = (kind: Kind) => workerLines.filter((line) => line['workflowId'] === jobs.get(kind)?.workflowId);

it('every line of a worker and of a receiver is JSON, with level, time, process and message', () => {
  expect(new Set(workerLines.map((line) => line.process))).toEqual(new Set(['worker']));
  expect(new Set(receiverLines.map((line) => line.process))).toEqual(new Set(['callbacks']));
  // Proves that the level is verbose enough to show whole activations.
  expect(workerLines.filter(({ level }) => level === 'trace').length).toBeGreaterThan(20);
});

it.each([
  ['short', 'Job parked', 'info', {}],
  ['short', 'Job continues', 'info', { parkedSeconds: expect.any(Number) as number }],
  ['refused', 'Job failed', 'warn', { code: 'NOT_VALID_EXTENSION', phase: 'uploading', endpoint: 'v1/upload/file' }],
  ['cut', 'Outcome of a submit was unknown', 'warn', { decision: 'failed' }],
  ['cut', 'Job failed', 'warn', { code: 'OUTCOME_UNKNOWN', phase: 'submitting' }],
] as const)('the job that is %s logs once: %s', (kind, message, level, fields) => {
  expect(linesOfJob(kind).filter(({ msg }) => msg === message)).toEqual([
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
    'paused',
    'The service wants a pause',
    { activityType: activityNames.uploadFile, code: 'TOO_MANY_REQUESTS', httpStatus: 429, retryAfterSeconds: 600 },
  ],
] as const)('a step of the job that is %s logs: %s', (kind, message, fields) => {
  expect(linesOfJob(kind).filter(({ msg }) => msg === message)).toEqual([
    expect.objectContaining({ level: 'warn', app: 'stub', runId: expect.any(String) as string, ...fields }),
  ]);
});

it('the SDK does not repeat at level warn that a job failed', () => {
  const said = workerLines.filter(({ msg }) => msg === 'Workflow failed');
  expect(said.map(({ level }) => level)).toEqual(['debug', 'debug']);
});

it('a job that goes as planned logs nothing at level info', () => {
  const own = linesOfJob('fine');
  expect(own.length).toBeGreaterThan(0);
  expect(own.filter(({ level }) => !['debug', 'trace'].includes(level))).toEqual([]);
});

it('a receiver logs at level debug what it answered, and for which job', () => {
  const answered = receiverLines.filter(({ msg }) => msg === 'Callback answered');
  const workflowId = jobs.get('proved')?.workflowId;
  expect(answered).toContainEqual(expect.objectContaining({ level: 'debug', status: 204, workflowId }));
  expect(answered).toContainEqual(expect.objectContaining({ level: 'debug', status: 401 }));
});

it('no line contains the token, an Authorization header, the callback key, or any part of a callback URL except the job', () => {
  const callbacks = stack.stub.requests.flatMap(({ data }) =>
    typeof data['callback'] === 'string' ? [data['callback']] : [],
  );
  expect(callbacks.length).toBeGreaterThan(2);
  const parts = callbacks.flatMap((url) => url.split('/').at(-1)?.split('.').slice(1) ?? []);
  const secrets = [meteredToken, callbackKey, ...parts];
  const text = workerText + stack.receiver.stderr();
  expect(secrets.filter((secret) => new SecretTraces(secret).find(text) !== undefined)).toEqual([]);
  expect(text).not.toMatch(/authorization|bearer (?!\*{8})/i);
  // Proves that there was something to keep out: the service has sent it.
  expect(text).toContain('not known to this service');
});

const parseLine = (line: string): Line => lineSchema.parse(JSON.parse(line));
