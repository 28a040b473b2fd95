import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Client } from '@temporalio/client';
import { ConversionFailedError, type ConversionHandle } from '../../src/client/conversion-handle';
import { readPendingStep } from '../../src/client/operations/job-waiting';
import { FileConversionClient } from '../../src/client/file-conversion-client';
import type { ConversionJobResult, ConversionPolicies } from '../../src/job/types';
import { sha256 } from '../storage/folder';
import { begunDownloads } from '../support/begun-downloads';
import { quickPolicies } from '../support/conversion-worker';
import { conversionsOf, unreportedConversions } from '../support/invariant';
import type { StubService } from '../support/stub-service';
import { answerError, answerCompleted, answerNotYet, startStubService } from '../support/stub-service';
import { testClient } from '../support/temporal';
import { until } from '../support/until';
import { WorkerProcess, type HoldingPoint } from '../support/worker-process';

/**
 * A worker is killed with `kill -9` while twelve jobs are at twelve different points, and is replaced. Each job has its own app profile and
 * service, so that every request can be attributed to a job. The kill happens once; each test checks one job.
 */

const megabyte = 1024 ** 2;

/** A job, and the point at which its worker is killed. */
interface Scene {
  /** Makes the service hold the job at this point. */
  arrange?: (stub: StubService) => void;
  /** Whether the job has reached this point. */
  reached: (job: RunningJob) => boolean | Promise<boolean>;
  hold?: HoldingPoint;
  policies?: ConversionPolicies;
  sourceBytes?: number;
  outputBytes?: number;
}

interface RunningJob {
  stub: StubService;
  source: Buffer;
  /** Contains only the job's output. */
  folder: string;
  handle: ConversionHandle;
}

let doomed: WorkerProcess;

const isHeld = (app: string) => () => doomed.isHolding(app);

const refusals = 4;

let killed = false;
let uploadHasBegun = false;

const scenes: Record<string, Scene> = {
  polling: {
    arrange: (stub) =>
      stub.on('task/response', ({ connector: id }, response) => {
        if (killed) answerCompleted(response, id);
        else answerNotYet(response, id);
      }),
    reached: ({ stub }) => stub.count('task/response') >= 3,
  },
  uploading: {
    sourceBytes: 16 * megabyte,
    arrange: (stub) =>
      stub.onArrival('upload/file', async (request) => {
        if (uploadHasBegun) return;
        await new Promise((resolve) => request.once('readable', resolve));
        request.read();
        uploadHasBegun = true;
        await new Promise((resolve) => request.once('close', resolve));
      }),
    reached: () => uploadHasBegun,
  },
  downloading: {
    outputBytes: 8 * megabyte,
    arrange: (stub) =>
      stub.first('download/url/get', (response) => {
        response.writeHead(200, { 'content-length': stub.output.length });
        response.write(stub.output.subarray(0, 3 * megabyte));
      }),
    reached: async ({ folder }) => {
      const [partial] = await begunDownloads(folder);
      return partial !== undefined && (await stat(path.join(folder, partial))).size === 3 * megabyte;
    },
  },
  'answerless-resubmit': {
    arrange: (stub) => stub.first('convert/file', (_response, seen) => void stub.convert(seen)),
    reached: ({ stub }) => stub.count('convert/file') === 1,
    policies: { onUnknownOutcome: 'resubmit' },
  },
  'answerless-fail': {
    arrange: (stub) => stub.first('convert/file', (_response, seen) => void stub.convert(seen)),
    reached: ({ stub }) => stub.count('convert/file') === 1,
    policies: { onUnknownOutcome: 'fail' },
  },
  'rate-limited': {
    arrange: (stub) =>
      stub.first('convert/file', (response) => answerError(response, 429, 'TOO_MANY_REQUESTS', { 'retry-after': '8' })),
    reached: async ({ handle }) => readPendingStep(await handle.describe())?.attempt === 2,
  },
  'refused-often': {
    arrange: (stub) =>
      stub.on('upload/file', (seen, response) => {
        const uploads = stub.count('upload/file');
        if (uploads <= refusals) answerError(response, 429, 'TOO_MANY_REQUESTS', { 'retry-after': '1' });
        else if (killed) stub.answerAsAlways(seen, response);
      }),
    reached: ({ stub }) => stub.count('upload/file') > refusals,
    // If refusals lengthened the pause, the next attempt would be more than a minute after the kill, beyond the time limit of this test.
    policies: { retryInitialInterval: '5 seconds', retryMaximumInterval: '10 minutes' },
  },
  parked: {
    arrange: (stub) =>
      stub.on('convert/file', (seen, response) => {
        if (killed) stub.answerAsAlways(seen, response);
        else answerError(response, 403, 'INSUFFICIENT_VCREDITS');
      }),
    reached: async ({ handle }) => (await handle.state()).phase === 'parked',
    // So that no probe is in flight at the kill.
    policies: { retryInitialInterval: '8 seconds', retryMaximumInterval: '8 seconds' },
  },
  'before-fence': { hold: 'beforeFence', reached: isHeld('before-fence') },
  'before-second-fence': {
    hold: 'beforeSecondFence',
    arrange: (stub) =>
      stub.first('convert/file', (response) => answerError(response, 429, 'TOO_MANY_REQUESTS', { 'retry-after': '1' })),
    reached: isHeld('before-second-fence'),
  },
  'between-names': { hold: 'betweenNames', reached: isHeld('between-names') },
  'after-commit': { hold: 'afterCommit', reached: isHeld('after-commit') },
};

describe('after kill -9 of the worker and the start of another one', () => {
  let folder: string;
  let temporal: Client;
  const jobs = new Map<string, RunningJob>();
  const outcomes = new Map<string, PromiseSettledResult<ConversionJobResult>>();
  const workers: WorkerProcess[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'fileconv-killed-'));
    temporal = await testClient();
    const stubs = new Map<string, StubService>();
    for (const app of Object.keys(scenes)) stubs.set(app, await startStubService());
    const apps = Object.fromEntries([...stubs].map(([app, { url }]) => [app, url]));
    const hold = Object.fromEntries(
      Object.entries(scenes).flatMap(([app, scene]) => (scene.hold ? [[app, scene.hold] as const] : [])),
    );
    const taskQueue = path.basename(folder);
    doomed = await startWorker({ taskQueue, folder, apps, hold });

    for (const [app, stub] of stubs) {
      const scene = scenes[app];
      if (!scene) continue;
      stub.output = Buffer.alloc(scene.outputBytes ?? 100, 'PK');
      scene.arrange?.(stub);
      jobs.set(app, await startJob({ app, scene, stub, taskQueue }));
    }
    await Promise.all(
      [...jobs].map(([app, job]) =>
        until(`job ${app} where it is to be killed`, () => scenes[app]?.reached(job) ?? false),
      ),
    );
    await doomed.kill();
    killed = true;
    await startWorker({ taskQueue, folder, apps });

    await Promise.all(
      [...jobs].map(async ([app, { handle }]) => {
        const [outcome] = await Promise.allSettled([handle.result()]);
        outcomes.set(app, outcome);
      }),
    );
  });

  afterAll(async () => {
    await Promise.all(workers.map((worker) => worker.kill()));
    await Promise.all([...jobs.values()].map(({ stub }) => stub.close()));
    await temporal.connection.close();
  });

  async function startWorker(options: Parameters<typeof WorkerProcess.start>[0]): Promise<WorkerProcess> {
    const worker = await WorkerProcess.start(options);
    workers.push(worker);
    return worker;
  }

  async function startJob(options: {
    app: string;
    scene: Scene;
    stub: StubService;
    taskQueue: string;
  }): Promise<RunningJob> {
    const { app, scene, stub, taskQueue } = options;
    const source = randomBytes(scene.sourceBytes ?? 100);
    const sourceFile = path.join(folder, `${app}.bin`);
    await writeFile(sourceFile, source);
    const outFolder = path.join(folder, `out-${app}`);
    await mkdir(outFolder);
    const handle = await new FileConversionClient({ client: temporal, taskQueue, app }).start({
      source: sourceFile,
      output: 'pdf',
      destination: path.join(outFolder, `${app}.pdf`),
      policies: { ...quickPolicies, ...scene.policies },
    });
    return { stub, source, folder: outFolder, handle };
  }

  function jobOf(app: string): RunningJob {
    const job = jobs.get(app);
    if (!job) throw new Error(`There is no job ${app}.`);
    return job;
  }

  function resultOf(app: string): ConversionJobResult {
    const outcome = outcomes.get(app);
    if (outcome?.status !== 'fulfilled') throw new Error(`job ${app} did not succeed`, { cause: outcome?.reason });
    return outcome.value;
  }

  /** Checks that the output is complete, the number of convert requests, and that no other file is left. */
  async function expectWhole(app: string, expected: { submits: number; charged: 'once' | 'possibly twice' }) {
    const { stub, folder: outFolder } = jobOf(app);
    const result = resultOf(app);
    expect(stub.count('convert/file')).toBe(expected.submits);
    expect(result.status).toBe('succeeded');
    expect(result.possiblyChargedTwice).toBe(expected.charged === 'possibly twice');
    expect(await readdir(outFolder)).toEqual([`${app}.pdf`]);
    expect(sha256(await readFile(path.join(outFolder, `${app}.pdf`)))).toBe(sha256(stub.output));
    expect(result.output).toMatchObject({ bytes: stub.output.length, sha256: sha256(stub.output) });
  }

  it('each conversion that a service ran is reported by its job', async () => {
    const taskQueues = [path.basename(folder)];
    const conversions = [...jobs.values()].flatMap(({ stub }) => conversionsOf(stub));
    // One of the two unanswered submits was repeated.
    expect(conversions).toHaveLength(Object.keys(scenes).length + 1);
    expect(await unreportedConversions(conversions, { client: temporal, taskQueues })).toEqual([]);
  });

  it('polling of a conversion continues', async () => {
    await expectWhole('polling', { submits: 1, charged: 'once' });
    expect(jobOf('polling').stub.count('upload/file')).toBe(1);
  });

  it('an interrupted upload is sent again completely', async () => {
    await expectWhole('uploading', { submits: 1, charged: 'once' });
    const { stub, source } = jobOf('uploading');
    const uploads = stub.requests.filter((seen) => seen.path === 'upload/file');
    expect([uploads.length, uploads[0]?.body.includes(source)]).toEqual([1, true]);
  });

  it('an interrupted download is repeated, and its temporary file is removed', async () => {
    await expectWhole('downloading', { submits: 1, charged: 'once' });
    expect(jobOf('downloading').stub.count('download/url/get')).toBe(2);
  });

  it('a download that has both its names is recognised as finished, and the temporary one is removed', async () => {
    await expectWhole('between-names', { submits: 1, charged: 'once' });
    expect(jobOf('between-names').stub.count('download/url/get')).toBe(2);
  });

  it('a download that is in place but was not reported to Temporal is recognised as finished', async () => {
    await expectWhole('after-commit', { submits: 1, charged: 'once' });
    expect(jobOf('after-commit').stub.count('download/url/get')).toBe(2);
  });

  it('an upload that was refused often before its worker was lost is soon sent again', async () =>
    await expectWhole('refused-often', { submits: 1, charged: 'once' }));

  it('a job that is parked for vCredits asks again, and converts once there are some', async () => {
    const { stub } = jobOf('parked');
    await expectWhole('parked', { submits: stub.count('convert/file'), charged: 'once' });
    expect([stub.count('upload/file'), stub.conversions.size]).toEqual([1, 1]);
  });

  it('a submit of which nothing was sent simply continues', async () =>
    await expectWhole('before-fence', { submits: 1, charged: 'once' }));

  it('a submit that was refused with 429 and waits for its next attempt is not taken for sent', async () =>
    await expectWhole('rate-limited', { submits: 2, charged: 'once' }));

  it('a submit that was refused with 429 and has begun its next attempt is not taken for sent', async () =>
    await expectWhole('before-second-fence', { submits: 2, charged: 'once' }));

  it('a submit without an answer is repeated under policy resubmit, and result and UI warn of a double charge', async () => {
    await expectWhole('answerless-resubmit', { submits: 2, charged: 'possibly twice' });
    expect(await currentDetails('answerless-resubmit')).toContain('Possibly charged twice');
  });

  it('a submit without an answer fails under policy fail, and failure and UI say why', async () => {
    const outcome = outcomes.get('answerless-fail');
    const error: unknown = outcome?.status === 'rejected' ? outcome.reason : undefined;
    if (!(error instanceof ConversionFailedError)) throw new Error('the job did not fail');
    expect(error.code).toBe('OUTCOME_UNKNOWN');
    expect(error.details).toMatchObject({ phase: 'submitting', possiblyChargedTwice: false });
    expect(error.message).toContain('not known whether the conversion runs');
    expect(error.message).toContain('fileconv job retry ');
    expect(await currentDetails('answerless-fail')).toContain('not known whether the conversion runs');
    const { stub, folder: outFolder } = jobOf('answerless-fail');
    expect([stub.count('convert/file'), await readdir(outFolder)]).toEqual([1, []]);
  });

  /** The current details of the job in the Temporal UI. */
  async function currentDetails(app: string): Promise<string> {
    const workflow = temporal.workflow.getHandle(jobOf(app).handle.workflowId);
    return (await workflow.query<{ currentDetails: string }>('__temporal_workflow_metadata')).currentDetails;
  }
});
