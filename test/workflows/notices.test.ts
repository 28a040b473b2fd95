import { randomUUID } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { BatchRequest } from '../../src/client/index';
import { signalAppReady } from '../../src/client/operations/signal-app';
import { toSweepInput } from '../../src/client/sweep-schedules';
import { runsOf } from '../support/batches';
import { quickPolicies, startRig, type ConversionRig } from '../support/conversion-worker';
import { noticeSecret, startListener, type Listener, type Word } from '../support/listener';
import { until } from '../support/until';

/** The notices of a batch to a listener, on a real Temporal server. */

let listener: Listener;
let rig: ConversionRig;
let app: string;

beforeEach(async () => {
  app = `told-${randomUUID()}`;
  listener = await startListener();
});

afterEach(async () => {
  await rig.close();
  listener.close();
});

/** Starts a worker that sends notices to the listener. */
async function startTelling(events?: ['app.parked']) {
  const notify = { url: listener.url, secret: noticeSecret, allowedHosts: ['127.0.0.1'], ...(events && { events }) };
  rig = await startRig({ app, notify });
}

async function batchOf(files: number, change: Partial<BatchRequest> = {}): Promise<BatchRequest> {
  const name = `batch-${randomUUID()}`;
  await mkdir(path.join(rig.folder, 'in'), { recursive: true });
  for (let file = 1; file <= files; file += 1) await rig.source(path.join('in', `${file}.md`));
  const [out, runs] = [path.join(rig.folder, 'out'), path.join(rig.folder, 'runs')];
  return { name, sources: [path.join(rig.folder, 'in')], to: 'pdf', out, runs, policies: quickPolicies, ...change };
}

const heard = (type: string): Word[] => listener.accepted.filter((word) => word.type === type);

/** Ids of the workflows that send notices of a batch. */
const tellersOf = async (name: string): Promise<string[]> =>
  (await rig.events(name)).flatMap(({ startChildWorkflowExecutionInitiatedEventAttributes: started }) =>
    started?.workflowType?.name === 'conversionNotice' ? (started.workflowId ?? []) : [],
  );

it('reports the end of a batch once, with its counts, without delaying the batch while the listener refuses', async () => {
  await startTelling();
  listener.answers = [503];
  const request = await batchOf(2);
  const result = await (await rig.client.startBatch(request)).result();
  await until('it is told', () => listener.accepted.length > 0);
  expect(listener.heard.map(({ id }) => id)).toEqual([listener.heard[0]?.id, listener.heard[0]?.id]);
  const [word] = listener.accepted;
  expect(word).toMatchObject({
    type: 'batch.ended',
    text: `Batch ${request.name} has ended: 2 of 2 files converted.`,
    data: { app, batch: request.name, status: 'completed', counts: { items: 2, succeeded: 2 }, report: result.report },
  });
  const [teller = ''] = await tellersOf(request.name);
  expect(await rig.temporal.workflow.getHandle(teller).result()).toBeUndefined();
  for (const id of [request.name, teller]) {
    const history = JSON.stringify(await rig.events(id));
    expect(history).not.toContain(noticeSecret.slice(6, 30));
    expect(history).not.toContain('of-the-url');
  }
});

it('reports a batch with a rejected plan as failed', async () => {
  await startTelling();
  const request = await batchOf(0, { sources: [path.join(rig.folder, 'nowhere')] });
  await expect((await rig.client.startBatch(request)).result()).rejects.toThrow('nowhere');
  await until('it is told', () => listener.accepted.length > 0);
  expect(listener.accepted).toMatchObject([
    { type: 'batch.ended', data: { batch: request.name, status: 'failed', code: 'SOURCE_NOT_FOUND' } },
  ]);
});

it("sends notices of a batch to the listener that the batch names, whatever the worker's configuration says", async () => {
  rig = await startRig({ app, notify: { allowedHosts: ['127.0.0.1'] } });
  const request = await batchOf(1, { notify: listener.url });
  await (await rig.client.startBatch(request)).result();
  await until('it is told', () => listener.accepted.length > 0);
  expect(listener.accepted).toMatchObject([{ type: 'batch.ended', data: { batch: request.name } }]);
  expect(listener.accepted[0]?.headers['webhook-signature']).toBeUndefined();
});

it('starts no notice workflows on a worker that is not configured to report batches', async () => {
  await startTelling(['app.parked']);
  const request = await batchOf(1);
  await (await rig.client.startBatch(request)).result();
  expect(await tellersOf(request.name)).toEqual([]);
});

it.each(['not a url', 'https://user:password@listener.example/', 'https://listener.example/#top'])(
  'rejects %s as the listener of a batch',
  async (notify) => {
    rig = await startRig({ app, worker: false });
    const starting = rig.client.startBatch(await batchOf(1, { notify }));
    await expect(starting).rejects.toThrow('notify: must be an http or https URL');
  },
);

it('reports jobs that wait for a person once for all of them, also when the batch continues as new', async () => {
  await startTelling();
  let code: string | undefined = 'INVALID_CREDENTIAL';
  rig.stub.refuse = ({ path: endpoint }) => (endpoint === 'upload/file' ? code : undefined);
  const policies = { ...quickPolicies, retryMaximumInterval: '1 hour' } as const;
  const request = await batchOf(4, { window: 3, historyLimit: 1, policies });
  const batch = await rig.client.startBatch(request);
  let jobs = 0;
  await until('all that are in flight wait', async () => {
    const { inFlight, needsAttention } = await batch.state();
    jobs = inFlight;
    return needsAttention?.jobs === inFlight;
  });
  const parked = `ConversionApp = '${app}' AND ConversionStatus = 'parked' AND ExecutionStatus = 'Running'`;
  await until('they are listed', async () => (await rig.temporal.workflow.count(parked)).count === jobs);
  await until('it is told', () => heard('batch.needs_attention').length > 0);
  expect(heard('batch.needs_attention')).toMatchObject([{ data: { batch: request.name, code, app } }]);
  code = undefined;
  await signalAppReady(rig.temporal, { app });
  await batch.result();
  expect((await runsOf(rig.temporal, request.name)).length).toBeGreaterThan(1);
  await until('its end is told', () => heard('batch.ended').length > 0);
  expect(heard('batch.needs_attention')).toHaveLength(1);
});

it('reports an app with parked jobs once, however many they are, and tells the notice workflow when they continue', async () => {
  await startTelling();
  let isFunded = false;
  rig.stub.refuse = ({ path: endpoint }) =>
    endpoint === 'convert/file' && !isFunded ? 'INSUFFICIENT_VCREDITS' : undefined;
  const source = await rig.source('report.md');
  const policies = { ...quickPolicies, retryMaximumInterval: '1 minute' } as const;
  const jobs = await Promise.all(
    Array.from({ length: 12 }, (_none, job) =>
      rig.client.start({ source, output: 'pdf', destination: path.join(rig.folder, `${job}.pdf`), policies }),
    ),
  );
  const parked = `ConversionApp = '${app}' AND ConversionStatus = 'parked' AND ExecutionStatus = 'Running'`;
  await until('all are parked', async () => (await rig.temporal.workflow.count(parked)).count === jobs.length);
  await until('it is told', () => listener.accepted.length > 0);
  isFunded = true;
  await signalAppReady(rig.temporal, { app });
  for (const job of jobs) expect(await job.result()).toMatchObject({ status: 'succeeded' });
  const teller = rig.temporal.workflow.getHandle(`notice/app/${rig.taskQueue}/${app}/credits`);
  const signals = (await rig.events(teller.workflowId)).flatMap(
    ({ workflowExecutionSignaledEventAttributes: signal }) => signal?.signalName ?? [],
  );
  expect(signals.at(-1)).toBe('appAccepted');
  expect(signals.length).toBeLessThan(6);
  expect(listener.accepted).toMatchObject([
    { type: 'app.parked', data: { app, reason: 'credits', code: 'INSUFFICIENT_VCREDITS' } },
  ]);
  await teller.terminate();
});

it('tells the notice workflows of all reasons for which a job was parked when it continues', async () => {
  await startTelling();
  let code: string | undefined = 'INVALID_CREDENTIAL';
  rig.stub.refuse = ({ path: endpoint }) => (endpoint === 'convert/file' ? code : undefined);
  const policies = { ...quickPolicies, onRefusedAccount: 'park', retryMaximumInterval: '1 minute' } as const;
  const destination = path.join(rig.folder, 'report.pdf');
  const job = await rig.client.start({ source: await rig.source('report.md'), output: 'pdf', destination, policies });
  await until('its account is told', () => listener.accepted.length === 1);
  code = 'INSUFFICIENT_VCREDITS';
  await signalAppReady(rig.temporal, { app });
  await until('its vCredits are told', () => listener.accepted.length === 2);
  code = undefined;
  await signalAppReady(rig.temporal, { app });
  await job.result();
  for (const reason of ['account', 'credits']) {
    const teller = rig.temporal.workflow.getHandle(`notice/app/${rig.taskQueue}/${app}/${reason}`);
    const events = await rig.events(teller.workflowId);
    const signals = events.flatMap((event) => event.workflowExecutionSignaledEventAttributes?.signalName ?? []);
    expect(signals).toEqual(['appRefused', 'appAccepted']);
    await teller.terminate();
  }
});

it('reports a failed schedule once per reason, and sends nothing for a run that finds nothing new', async () => {
  await startTelling();
  const [from, out] = [path.join(rig.folder, 'in'), path.join(rig.folder, 'out')];
  const name = `sweep-${randomUUID()}`;
  const batchFolder = path.join(rig.folder, 'batches', name);
  const times = { everyMs: 10_000 };
  const input = toSweepInput({ name, times, from, to: 'pdf', out, batchFolder, settledForMs: 1 }, app);
  const sweep = () =>
    rig.temporal.workflow.execute('conversionSweep', {
      workflowId: `sweep/${name}`,
      taskQueue: rig.taskQueue,
      args: [input],
    });
  for (let run = 1; run <= 2; run += 1) await expect(sweep()).rejects.toThrow();
  await until('it is told', () => listener.accepted.length > 0);
  await mkdir(from);
  await sweep();
  await rig.source('in/new.md');
  await until('it has settled', async () => ((await sweep()) as { items: number }).items > 0);
  await until('its end is told', () => heard('batch.ended').length > 0);
  expect(listener.accepted).toMatchObject([
    { type: 'schedule.failed', data: { schedule: name, app, code: 'SOURCE_NOT_FOUND' } },
    { type: 'batch.ended', data: { batch: name, counts: { succeeded: 1 } } },
  ]);
  await rig.temporal.workflow.getHandle(`notice/schedule.failed/${name}/SOURCE_NOT_FOUND`).terminate();
});
