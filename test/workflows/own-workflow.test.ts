import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { WorkflowFailedError } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { ConversionHandle } from '../../src/client/conversion-handle';
import { signalAppReady } from '../../src/client/operations/signal-app';
import { FileConversionPlugin } from '../../src/plugin';
import type { ConversionBatchResult } from '../../src/batch/model/state';
import type { ConversionJobInput } from '../../src/job/types';
import { searchAttributes } from '../../src/job/search-attributes';
import { inThisThread, quickPolicies, startRig, type ConversionRig } from '../support/conversion-worker';
import { answerError, stubAppId, stubToken } from '../support/stub-service';
import { testTemporalAddress } from '../support/temporal';
import { resetWorkflow } from '../support/reset';
import { until } from '../support/until';

/** Jobs as children of a user's own workflow, on the user's own worker. */

const app = 'own-workflow';
let rig: ConversionRig;
let connection: NativeConnection;
let plugin: FileConversionPlugin;
let worker: Worker;
let running: Promise<void>;

beforeAll(async () => {
  rig = await startRig({ app, worker: false });
  connection = await NativeConnection.connect({ address: testTemporalAddress() });
  plugin = new FileConversionPlugin({ apps: { [app]: { baseUrl: rig.stub.url, appId: stubAppId, token: stubToken } } });
  worker = await inThisThread(() =>
    Worker.create({
      connection,
      taskQueue: rig.taskQueue,
      workflowsPath: require.resolve('../support/own-workflows'),
      plugins: [plugin],
    }),
  );
  running = worker.run();
});

afterAll(async () => {
  worker.shutdown();
  await running;
  await connection.close();
  await rig.close();
});

it.each(['convertListed', 'convertUnlisted'])(
  'a parked job of %s continues when vCredits are announced',
  async (workflow) => {
    let balance = 0;
    rig.stub.on('convert/file', (seen, response) => {
      if (balance === 0) answerError(response, 403, 'INSUFFICIENT_VCREDITS');
      else rig.stub.answerAsAlways(seen, response);
    });
    const childId = `own/${randomUUID()}`;
    const input: ConversionJobInput = {
      app,
      source: { uri: pathToFileURL(await rig.source('report.md')).href },
      output: 'pdf',
      destination: pathToFileURL(path.join(rig.folder, `${workflow}.pdf`)).href,
      policies: { ...quickPolicies, retryMaximumInterval: '1 minute' },
    };
    const result = rig.temporal.workflow.execute(workflow, {
      workflowId: `parent-${childId}`,
      taskQueue: rig.taskQueue,
      args: [input, childId],
    });
    const job = new ConversionHandle(rig.temporal.workflow.getHandle(childId));
    await until('it is parked', () => isParked(job));
    balance = 1;
    await until('it is told', async () => (await signalAppReady(rig.temporal, { app })).signalled > 0);
    await expect(result).resolves.toMatchObject({ status: 'succeeded' });
    // Proves that the signal resumed it, and not its own probe after a minute.
    expect(await knowsTheWord(childId)).toBe(true);
  },
);

/** Whether a step of the job has received the time of the announcement of vCredits. */
async function knowsTheWord(workflowId: string): Promise<boolean> {
  const events = await rig.events(workflowId);
  const inputs = events.flatMap((event) => event.activityTaskScheduledEventAttributes?.input?.payloads ?? []);
  return inputs.some(({ data }) => /"readyAt":\d/.test(Buffer.from(data ?? []).toString()));
}

const isParked = async (job: ConversionHandle): Promise<boolean> =>
  (await job.state().catch(() => undefined))?.phase === 'parked';

it('a child started with conversionChildOptions is listed and named like any other job', async () => {
  rig.stub.asAlways('convert/file');
  const childId = `own/${randomUUID()}`;
  const input: ConversionJobInput = {
    app,
    source: { uri: pathToFileURL(await rig.source('invoice.docx')).href },
    output: 'pdf',
    policies: quickPolicies,
  };
  await rig.temporal.workflow.execute('convertListed', {
    workflowId: `parent-${childId}`,
    taskQueue: rig.taskQueue,
    args: [input, childId],
  });
  const child = await rig.temporal.workflow.getHandle(childId).describe();
  const { typedSearchAttributes: attributes } = child;
  expect(await child.staticSummary()).toBe('invoice.docx → pdf');
  expect(attributes.get(searchAttributes.app)).toBe(app);
  expect(attributes.get(searchAttributes.status)).toBe('completed');
  expect(attributes.get(searchAttributes.inputFormat)).toBe('docx');
});

describe('a job of executeConversion', () => {
  const jobTo = async (name: string): Promise<ConversionJobInput> => ({
    app,
    source: { uri: pathToFileURL(await rig.source(`${name}.md`, `# ${name}\n`)).href },
    output: 'pdf',
    destination: pathToFileURL(path.join(rig.folder, `${name}.pdf`)).href,
    policies: quickPolicies,
  });

  function convertOnce(
    input: ConversionJobInput,
    { workflowId = `once-${randomUUID()}`, jobId }: { workflowId?: string; jobId?: string } = {},
  ): Promise<unknown> {
    return rig.temporal.workflow.execute('convertOnce', { workflowId, taskQueue: rig.taskQueue, args: [input, jobId] });
  }

  it('fetches what the last one has paid for, if its workflow is run again', async () => {
    const input = await jobTo('again');
    const givingUp = { ...input, policies: { ...quickPolicies, downloadDeadline: 500 } };
    const before = rig.stub.count('convert/file');
    rig.stub.fail('download/url', 500, 'INTERNAL_SERVER_ERROR');
    await expect(convertOnce(givingUp)).rejects.toThrow();
    rig.stub.asAlways('download/url');
    await expect(convertOnce(input)).resolves.toMatchObject({ status: 'succeeded', possiblyChargedTwice: false });
    await expect(convertOnce(input)).resolves.toMatchObject({ status: 'skipped', recalled: true });
    expect(rig.stub.count('convert/file') - before).toBe(1);
  });

  it('recognises a source, a format and a destination that others spell otherwise', async () => {
    const { source, destination = '', ...usual } = await jobTo('spelled~1');
    const { uri } = source as { uri: string };
    const other = (typed: string) => typed.replace('%7E', '~').replace(/[^/]*$/, 'x/../$&');
    const before = rig.stub.count('convert/file');
    await rig.client.convert({ ...usual, source, destination });
    const overwriting = { ...usual, source: { uri: other(uri) }, output: 'PDF', onExisting: 'overwrite' } as const;
    const done = { status: 'skipped', recalled: true };
    await expect(convertOnce({ ...overwriting, destination })).resolves.toMatchObject(done);
    await expect(convertOnce({ ...overwriting, destination: other(destination) })).resolves.toMatchObject(done);
    const inFolder = { ...usual, source, destination: new URL('.', destination).href };
    await expect(convertOnce(inFolder)).resolves.toMatchObject(done);
    const asked = { ...overwriting, destination: other(destination) };
    await expect(rig.client.convert(asked)).resolves.toMatchObject(done);
    const [item] = await rig.client
      .startBatch({
        name: `spelled-${randomUUID()}`,
        policies: quickPolicies,
        items: [{ source: uri, output: 'pdf', destination: asked.destination }],
      })
      .then(async (batch) => (await batch.result()).itemResults ?? []);
    expect(item).toMatchObject({ status: 'skipped' });
    expect(rig.stub.count('convert/file') - before).toBe(1);
  });

  it('learns of the job that it has restarted, if its workflow is reset to before that', async () => {
    const input = { ...(await jobTo('reset')), onExisting: 'overwrite' as const };
    const before = rig.stub.count('convert/file');
    rig.stub.first('convert/file', (response) => answerError(response, 200, 'INVALID_OUTPUT_FORMAT'));
    await expect(convertOnce(input)).rejects.toThrow();
    const workflowId = `once-${randomUUID()}`;
    await convertOnce(input, { workflowId });
    await resetWorkflow(rig.temporal, workflowId, 'lastChild');
    await expect(rig.temporal.workflow.getHandle(workflowId).result()).resolves.toMatchObject({ recalled: true });
    expect(rig.stub.count('convert/file') - before).toBe(2);
  });

  it('lets identical requests wait for the running job and refuses different ones', async () => {
    const input = await jobTo('together');
    const before = rig.stub.count('convert/file');
    const held = rig.stub.hold();
    const first = convertOnce(input);
    await until('it is submitted', () => rig.stub.count('convert/file') > before);
    const second = convertOnce(input);
    const { uri } = input.source as { uri: string };
    expect((await rig.client.start({ ...input, source: uri })).isAttached).toBe(true);
    const other = convertOnce({ ...input, output: 'html' }).catch(
      (error: unknown) => (error as WorkflowFailedError).cause,
    );
    await expect(other).resolves.toMatchObject({ type: 'DESTINATION_TAKEN' });
    held.letGo();
    await expect(first).resolves.toMatchObject({ status: 'succeeded' });
    await expect(second).resolves.toMatchObject({ status: 'skipped', recalled: true });
    expect(rig.stub.count('convert/file') - before).toBe(1);
  });

  it('gives the result a number while another job writes to its name, if it may be renamed', async () => {
    const input = { ...(await jobTo('numbered')), onExisting: 'rename' as const };
    const before = rig.stub.conversions.size;
    const held = rig.stub.hold();
    const first = convertOnce(input);
    await until('it is submitted', () => rig.stub.conversions.size > before);
    const second = convertOnce({ ...input, output: 'html' });
    await until('the other is submitted', () => rig.stub.conversions.size > before + 1);
    held.letGo();
    await expect(first).resolves.toMatchObject({ output: { name: 'numbered.pdf' } });
    await expect(second).resolves.toMatchObject({ output: { name: 'numbered (1).pdf' } });
  });

  it('fails at once while another workflow with its id is running, and starts once that has ended', async () => {
    const input = await jobTo('foreign');
    const jobId = `once-${randomUUID()}`;
    const own = convertOnce(input, { workflowId: jobId, jobId }).catch(
      (error: unknown) => (error as WorkflowFailedError).cause,
    );
    await expect(own).resolves.toMatchObject({ message: expect.stringMatching(/it is a convertOnce/) as string });
    await expect(convertOnce(input, { jobId })).resolves.toMatchObject({ status: 'succeeded' });
  });

  it('fails an invalid input with the name of the field', async () => {
    const input = { ...(await jobTo('invalid')), source: 'report.md' } as never;
    const failed = convertOnce(input).catch((error: unknown) => (error as WorkflowFailedError).cause);
    await expect(failed).resolves.toMatchObject({
      type: 'INVALID_JOB',
      message: expect.stringMatching(/source/) as string,
    });
  });
});

it('a batch of inline items as a child returns the result of each item', async () => {
  const items = await Promise.all(
    ['one.md', 'two.md'].map(async (name) => ({
      source: pathToFileURL(await rig.source(name)).href,
      output: 'pdf',
      destination: pathToFileURL(path.join(rig.folder, `together-${name}.pdf`)).href,
    })),
  );
  const id = `together-${randomUUID()}`;
  const result = (await rig.temporal.workflow.execute('convertTogether', {
    workflowId: `parent-${id}`,
    taskQueue: rig.taskQueue,
    args: [{ app, items, policies: quickPolicies }, id],
  })) as ConversionBatchResult;
  expect(result).toMatchObject({ status: 'completed', succeeded: 2 });
  const { itemResults = [] } = result;
  expect(itemResults.map(({ output }) => output?.name)).toEqual(['together-one.md.pdf', 'together-two.md.pdf']);
  expect(itemResults.map(({ workflowId = '' }) => workflowId.replace(/^.*\//, ''))).toEqual(
    ['one', 'two'].map((name) => expect.stringMatching(`together-${name}.md.pdf-[0-9a-f]{16}$`) as unknown),
  );
});
