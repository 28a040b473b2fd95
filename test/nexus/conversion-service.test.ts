import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { HandlerError } from 'nexus-rpc';
import type { ConvertInput } from '../../src/nexus';
import type { ConversionRequest } from '../../src/client/job-request';
import type { ConversionBatchResult } from '../../src/batch/model/state';
import type { ConversionJobResult } from '../../src/job/types';
import { searchAttributes } from '../../src/job/search-attributes';
import { planRun, startRun } from '../support/batches';
import { quickPolicies, startRig, type ConversionRig } from '../support/conversion-worker';
import { newNamespace } from '../support/namespace';
import { startNexusCaller, type NexusCaller } from '../support/nexus-caller';
import { retryJob } from '../support/retry';
import { answerRunning } from '../support/stub-service';
import { testTemporalAddress } from '../support/temporal';
import { until } from '../support/until';

/** Callers in another namespace, which know an endpoint, the service's definition and an app profile. */

let rig: ConversionRig;
let caller: NexusCaller;

beforeAll(async () => {
  rig = await startRig({ app: 'invoices', nexus: { apps: ['invoices'] } });
  caller = await startNexusCaller(rig.temporal, rig);
});

afterEach(() => rig.stub.asAlways('convert/file', 'task/response'));

afterAll(async () => {
  await caller.close();
  await rig.close();
});

async function newJob(): Promise<ConvertInput> {
  const key = `letters/${randomUUID()}`;
  const name = path.basename(key);
  return {
    key,
    app: 'invoices',
    source: { uri: pathToFileURL(await rig.source(`${name}.md`)).href },
    output: 'pdf',
    destination: pathToFileURL(path.join(rig.folder, `${name}.pdf`)).href,
    policies: quickPolicies,
  };
}

const describeWorkflow = (id: string) => rig.temporal.workflow.getHandle(id).describe();
const idOf = ({ key }: ConvertInput) => `nexus/invoices/${key.replace('/', '%2F')}`;
const conversionsOf = ({ key }: ConvertInput) =>
  [...rig.stub.conversions.values()].filter((name) => name === `${path.basename(key)}.md`).length;

/** Leaves convert requests unanswered until the returned function is called. */
function holdSubmits(): () => void {
  const held: (() => void)[] = [];
  rig.stub.on('convert/file', (seen, response) => void held.push(() => rig.stub.answerAsAlways(seen, response)));
  return () => {
    rig.stub.asAlways('convert/file');
    for (const answer of held) answer();
  };
}

const refuseSubmits = (status: number, code: string): void => rig.stub.fail('convert/file', status, code);

const phaseOf = async (input: ConvertInput) =>
  (
    await rig.client
      .get(idOf(input))
      .state()
      .catch(() => undefined)
  )?.phase;

/** The error of the handler: the second in the chain, after that of the operation. */
async function refusalOf(operation: Parameters<NexusCaller['refusal']>[0], input: unknown) {
  const [, error] = await caller.refusal(operation, input);
  if (!(error instanceof HandlerError)) throw error ?? new Error('no error');
  const { type, message } = error;
  return { type, message };
}

describe('convert', () => {
  it('returns the result to a caller in another namespace, from a job that is listed and named like any other', async () => {
    const input = await newJob();
    expect(((await caller.call('convert', input)) as ConversionJobResult).output?.sha256).toMatch(/^[0-9a-f]{64}$/);
    const { source, output, destination, policies } = input;
    const usual = await rig.client.start({ source, output, destination, policies } as ConversionRequest);
    await usual.result().catch(() => undefined);
    const [job, other] = await Promise.all([describeWorkflow(idOf(input)), describeWorkflow(usual.workflowId)]);
    for (const key of [searchAttributes.app, searchAttributes.inputFormat, searchAttributes.outputFormat]) {
      expect(job.typedSearchAttributes.get(key)).toBeDefined();
      expect(job.typedSearchAttributes.get(key)).toBe(other.typedSearchAttributes.get(key));
    }
    expect(await job.staticSummary()).toBe(await other.staticSummary());
    expect(await job.staticDetails()).toBe(await other.staticDetails());
    expect(job.memo).toEqual(other.memo);
  });

  it('makes one job per key, whose result all callers get, while it is running and afterwards', async () => {
    const input = await newJob();
    const release = holdSubmits();
    const calls = await Promise.all(Array.from({ length: 5 }, () => caller.start('convert', input)));
    await until('it is being submitted', async () => (await phaseOf(input)) === 'submitting');
    const other = { ...input, policies: { ...quickPolicies, conversionDeadline: '1 hour' } };
    calls.push(await caller.start('convert', other));
    release();
    const results = await Promise.all(calls.map((call) => call.result()));
    results.push(await caller.call('convert', input));
    expect(new Set(results.map((result) => JSON.stringify(result))).size).toBe(1);
    expect(conversionsOf(input)).toBe(1);
  });

  it('rejects a key that was used for something else, whether that is running or has ended', async () => {
    const input = await newJob();
    const release = holdSubmits();
    const call = await caller.start('convert', input);
    await until('it is being submitted', async () => (await phaseOf(input)) === 'submitting');
    const refusal = { type: 'CONFLICT', message: expect.stringMatching(/^key: .* another input/) as string };
    expect(await refusalOf('convert', { ...input, output: 'docx' })).toEqual(refusal);
    release();
    await call.result();
    expect(await refusalOf('convert', { ...input, output: 'docx' })).toEqual(refusal);
    expect(await refusalOf('convert', { ...input, parameters: { dpi: 300 } })).toEqual(refusal);
  });

  it('keeps the keys of two apps apart, even if they contain slashes', async () => {
    const input = await newJob();
    const others = await rig.temporal.workflow.start('conversionJob', {
      workflowId: `nexus/invoices/2026/${input.key}`,
      taskQueue: rig.taskQueue,
      args: [{ ...input, app: 'invoices/2026' }],
    });
    expect(await refusalOf('state', { app: 'invoices', key: `2026/${input.key}` })).toMatchObject({
      type: 'NOT_FOUND',
    });
    await others.cancel();
  });

  it('fails with the code, the advice and the details of the job on every call, after one convert request', async () => {
    refuseSubmits(400, 'INVALID_FORMAT');
    const input = await newJob();
    const before = rig.stub.count('convert/file');
    const chains = [await caller.refusal('convert', input), await caller.refusal('convert', input)];
    for (const errors of chains) {
      const failure = errors.find(
        (error) => error instanceof ApplicationFailure && error.type !== 'OperationError',
      ) as ApplicationFailure;
      expect(failure.type).toBe('INVALID_FORMAT');
      expect(failure.message).toContain('choose another format');
      expect(failure.details).toEqual([expect.objectContaining({ code: 'INVALID_FORMAT', charge: 'no' })]);
    }
    expect(rig.stub.count('convert/file')).toBe(before + 1);
  });

  it('returns the result of the key once an operator has retried its failed job', async () => {
    const input = { ...(await newJob()), policies: { ...quickPolicies, downloadDeadline: 500 } };
    rig.stub.fail('download/url', 500, 'INTERNAL_SERVER_ERROR');
    await caller.refusal('convert', input);
    rig.stub.asAlways('download/url');
    const retried = await (await retryJob(rig.temporal, idOf(input))).result();
    expect(retried).toMatchObject({ status: 'succeeded' });
    expect(await caller.call('convert', input)).toEqual(retried);
    expect(conversionsOf(input)).toBe(1);
  });

  it('cancels the job when the caller cancels', async () => {
    rig.stub.on('task/response', (seen, response) => answerRunning(response, seen.connector));
    const input = await newJob();
    const call = await caller.start('convert', input);
    await until('it is converting', async () => (await phaseOf(input)) === 'converting');
    await call.cancel();
    await expect(call.result()).rejects.toMatchObject({ cause: expect.any(CancelledFailure) as Error });
    await expect(rig.client.get(idOf(input)).result()).rejects.toMatchObject({ code: 'CANCELLED' });
    expect((await caller.refusal('convert', input)).some((error) => error instanceof CancelledFailure)).toBe(true);
  });

  it.each([
    ['key', { key: undefined }],
    ['key', { key: ' blank before' }],
    ['key', { key: 'x'.repeat(201) }],
    ['key', { key: 'half \ud83d' }],
    ['app', { app: undefined }],
    ['output', { output: 'no format' }],
    ['source', { source: 'letters/1.md' }],
    ['source.uri', { source: { uri: 'letters/1.md' } }],
    ['destination', { destination: 'out/' }],
    ['policies.submitTimeout', { policies: { submitTimeout: 'soon' } }],
    ['Unrecognized key', { speed: 'high' }],
  ])('rejects a request with a wrong %s at once, and says so (%j)', async (field, change) => {
    const refusal = await refusalOf('convert', { ...(await newJob()), ...change });
    expect(refusal.type).toBe('BAD_REQUEST');
    expect(refusal.message).toContain(`${field}: `);
  });

  it('rejects an app that callers may not use, and names those that they may use', async () =>
    expect(await refusalOf('convert', { ...(await newJob()), app: 'payroll' })).toEqual({
      type: 'UNAUTHORIZED',
      message: expect.stringMatching(/payroll; they may use: invoices/) as string,
    }));
});

describe('convertBatch', () => {
  const batchOf = async (count: number) => {
    const { name, items } = await planRun(rig.folder, count);
    const uri = (folder: string) => pathToFileURL(`${path.join(rig.folder, name, folder)}/`).href;
    const sources = items.map(({ source }) => source);
    return { name, app: 'invoices', sources, to: 'pdf', out: uri('out'), runs: uri('runs'), policies: quickPolicies };
  };

  it('runs a batch, which can be called again when it has ended', async () => {
    const batch = await batchOf(2);
    const done: Partial<ConversionBatchResult> = { status: 'completed', succeeded: 2 };
    await expect(caller.call('convertBatch', batch)).resolves.toMatchObject(done);
    const again: Partial<ConversionBatchResult> = { status: 'completed', succeeded: 0, skipped: 2 };
    await expect(caller.call('convertBatch', batch)).resolves.toMatchObject(again);
  });

  it('runs a batch of inline items and returns the result of each, but rejects paths in them', async () => {
    const source = pathToFileURL(await rig.source('inline.md')).href;
    const destination = pathToFileURL(path.join(rig.folder, 'inline.pdf')).href;
    const request = { app: 'invoices', name: `inline-${randomUUID()}`, policies: quickPolicies };
    const item = { source, output: 'pdf', destination };
    await expect(caller.call('convertBatch', { ...request, items: [item] })).resolves.toMatchObject({
      itemResults: [{ item: 1, status: 'succeeded', output: { uri: destination } }],
    });
    const items = [item, { ...item, destination: 'out/inline.pdf' }];
    expect(await refusalOf('convertBatch', { ...request, items })).toMatchObject({
      type: 'BAD_REQUEST',
      message: expect.stringContaining('items.1.destination: must be a URI') as string,
    });
  });

  it('rejects a name in use by a running batch or another workflow, and a folder that is a path', async () => {
    const batch = await batchOf(1);
    const release = holdSubmits();
    const call = await caller.start('convertBatch', batch);
    await until('it runs', () => describeWorkflow(batch.name).then(Boolean, () => false));
    expect(await refusalOf('convertBatch', batch)).toMatchObject({
      type: 'CONFLICT',
      message: expect.stringContaining('is running') as string,
    });
    release();
    await call.result();
    const job = await rig.client.start(
      { source: 'file:///missing', output: 'pdf' },
      { workflowId: `${batch.name}-job` },
    );
    await job.result().catch(() => undefined);
    expect(await refusalOf('convertBatch', { ...batch, name: job.workflowId })).toMatchObject({ type: 'CONFLICT' });
    const refusal = await refusalOf('convertBatch', { ...batch, out: 'batches/1' });
    expect(refusal).toMatchObject({ type: 'BAD_REQUEST', message: expect.stringContaining('out: ') as string });
    for (const [field, wrong] of Object.entries({ window: 900, sources: batch.sources[0], items: {} })) {
      expect(await refusalOf('convertBatch', { ...batch, [field]: wrong })).toMatchObject({
        type: 'BAD_REQUEST',
        message: expect.stringContaining(`${field}: `) as string,
      });
    }
  });
});

describe('state and appReady', () => {
  it('report the state of a job or a batch, by key or by workflow id', async () => {
    const input = await newJob();
    await caller.call('convert', input);
    const told = {
      workflowId: idOf(input),
      open: false,
      job: expect.objectContaining({ phase: 'completed' }) as object,
    };
    expect(await caller.call('state', { app: 'invoices', key: input.key })).toEqual(told);
    expect(await caller.call('state', { app: 'invoices', workflowId: idOf(input) })).toEqual(told);
    const { request } = await planRun(rig.folder, 1);
    await (await startRun(rig.client, { ...request, app: 'invoices' })).result();
    expect(await caller.call('state', { app: 'invoices', workflowId: request.name })).toEqual({
      workflowId: request.name,
      open: false,
      batch: expect.objectContaining({ succeeded: 1 }) as object,
    });
  });

  it('find no job of another app, and no workflow other than a conversion', async () => {
    const others = await rig.client.start({ app: 'payroll', source: 'file:///missing', output: 'pdf' });
    const foreign = await rig.temporal.workflow.start('someWorkflow', {
      workflowId: randomUUID(),
      taskQueue: 'nobody',
    });
    const ids = [others.workflowId, foreign.workflowId, randomUUID()];
    for (const workflowId of ids) {
      for (const operation of ['state', 'appReady'] as const) {
        expect(await refusalOf(operation, { app: 'invoices', workflowId })).toEqual({
          type: 'NOT_FOUND',
          message: `App invoices has no job or batch ${workflowId}.`,
        });
      }
    }
    await foreign.terminate();
    await others.cancel();
  });

  it.each([{}, { key: 'a', workflowId: 'b' }, { key: 'a', speed: 'high' }, { workflowId: 'half \ud83d' }])(
    'reject a request for the state of %j',
    async (target) =>
      expect(await refusalOf('state', { app: 'invoices', ...target })).toMatchObject({ type: 'BAD_REQUEST' }),
  );

  /** Parked jobs that are listed, and that don't probe on their own. */
  async function park(count: number) {
    refuseSubmits(403, 'INSUFFICIENT_VCREDITS');
    const patient = { ...quickPolicies, retryMaximumInterval: '1 hour' } as const;
    const inputs = (await Promise.all(Array.from({ length: count }, newJob))).map((job) => ({
      ...job,
      policies: patient,
    }));
    const calls = await Promise.all(inputs.map((input) => caller.start('convert', input)));
    const ids = inputs.map((input) => `'${idOf(input)}'`).join(', ');
    const query = `WorkflowId IN (${ids}) AND ConversionStatus = 'parked'`;
    await until('they are parked', async () => (await rig.temporal.workflow.count(query)).count === count);
    rig.stub.asAlways('convert/file');
    return { key: inputs[0]?.key, results: Promise.all(calls.map((call) => call.result())) };
  }

  it('resume all parked jobs of an app at once', async () => {
    const { results } = await park(2);
    const unlisted = await rig.temporal.workflow.start('conversionJob', {
      workflowId: randomUUID(),
      taskQueue: 'nobody',
      args: [{ ...(await newJob()), app: 'payroll' }],
    });
    expect(await caller.call('appReady', { app: 'invoices' })).toEqual({ jobs: 2 });
    await expect(results).resolves.toMatchObject([{ status: 'succeeded' }, { status: 'succeeded' }]);
    await unlisted.terminate();
  });

  it('say what the namespace lacks for jobs to be listed', async () => {
    const namespace = await newNamespace(rig.temporal);
    const temporal = { address: testTemporalAddress(), namespace };
    const bare = await startRig({ app: 'invoices', nexus: { apps: ['invoices'] }, temporal });
    const callers = await startNexusCaller(rig.temporal, { taskQueue: bare.taskQueue, namespace });
    expect((await callers.refusal('appReady', { app: 'invoices' })).map(({ message }) => message)).toContainEqual(
      expect.stringMatching(/the namespace has no search attributes .* fileconv namespace init/),
    );
    await callers.close();
    await bare.close();
  });

  it('resume one parked job by its key', async () => {
    const { key, results } = await park(1);
    expect(await caller.call('appReady', { app: 'invoices', key })).toEqual({ jobs: 1 });
    await expect(results).resolves.toMatchObject([{ status: 'succeeded' }]);
    expect(await caller.call('appReady', { app: 'invoices', key })).toEqual({ jobs: 0 });
  });
});
