import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Client } from '@temporalio/client';
import { parseCallbackKeys } from '../../src/callbacks/callback-url';
import { createSignalJob, startCallbackReceiver, type CallbackReceiver } from '../../src/callbacks/receiver';
import { ConversionFailedError, type ConversionHandle } from '../../src/client/conversion-handle';
import { FileConversionClient } from '../../src/client/file-conversion-client';
import type { ConversionJobResult, OnUnknownOutcome } from '../../src/job/types';
import { callbackKeyText, keepTasks, type StubTask } from '../support/calling-back';
import { quickPolicies } from '../support/conversion-worker';
import { answerJson, answerRunning, cut, startStubService, type StubService } from '../support/stub-service';
import { testClient } from '../support/temporal';
import { until } from '../support/until';
import { WorkerProcess } from '../support/worker-process';

/**
 * Every fault of a submit, with and without the callback that would tell of it, under both policies. All jobs run at the same time, each
 * with an app and a service of its own, on workers that are killed once and replaced.
 */

const faults = ['500 before', '500 after', 'cut', 'time-out', 'killed in line', 'killed after the first byte'] as const;
type Fault = (typeof faults)[number];
type Callback = 'arrives' | 'is lost';

interface Expected {
  /** Conversions that the service ran. */
  ran: number;
  outcome: 'succeeded' | 'OUTCOME_UNKNOWN';
  twice: boolean;
}

const once: Expected = { ran: 1, outcome: 'succeeded', twice: false };
const unknown = (ran: number): Expected => ({ ran, outcome: 'OUTCOME_UNKNOWN', twice: false });
const again = (ran: number): Expected => ({ ran, outcome: 'succeeded', twice: true });

/** What the design says of each. A conversion that never ran never calls back. */
function expectedOf(fault: Fault, callback: Callback, policy: OnUnknownOutcome): Expected {
  if (fault === 'killed in line') return once;
  if (fault === '500 before') return policy === 'resubmit' ? again(1) : unknown(0);
  if (callback === 'arrives') return once;
  return policy === 'resubmit' ? again(2) : unknown(1);
}

const cases = faults.flatMap((fault) =>
  (['arrives', 'is lost'] as const).flatMap((callback) =>
    (['resubmit', 'fail'] as const).map((policy) => [fault, callback, policy] as const),
  ),
);
const appOf = (...parts: readonly string[]) => parts.join('-').replaceAll(/[ -]+/g, '-');

describe('a submit that goes wrong', () => {
  let folder: string;
  let temporal: Client;
  let receiver: CallbackReceiver;
  const stubs = new Map<string, StubService>();
  const tasks = new Map<string, StubTask[]>();
  const outcomes = new Map<string, PromiseSettledResult<ConversionJobResult>>();
  const workers: WorkerProcess[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'fileconv-matrix-'));
    temporal = await testClient();
    receiver = await startCallbackReceiver({
      keys: parseCallbackKeys(callbackKeyText),
      signalJob: createSignalJob(temporal),
    });
    for (const [fault, callback, policy] of cases) {
      const app = appOf(fault, callback, policy);
      const stub = await startStubService();
      stubs.set(app, stub);
      tasks.set(app, arrange(stub, fault, callback));
    }
    const apps = Object.fromEntries([...stubs].map(([app, { url }]) => [app, url]));
    const inLine = cases.filter(([fault]) => fault === 'killed in line').map((each) => appOf(...each));
    const options = { folder, apps, callbacks: { key: callbackKeyText, publicBaseUrl: receiver.url } };
    const queues = { plain: path.basename(folder), held: `${path.basename(folder)}-held` };
    const hold = Object.fromEntries(inLine.map((app) => [app, 'beforeFence' as const]));
    const plain = await startWorker({ ...options, taskQueue: queues.plain });
    const holding = await startWorker({ ...options, taskQueue: queues.held, hold });

    const handles = new Map<string, ConversionHandle>();
    for (const [fault, callback, policy] of cases) {
      const app = appOf(fault, callback, policy);
      handles.set(app, await startJob(app, policy, fault === 'killed in line' ? queues.held : queues.plain));
    }
    await until('every submit where its worker is to be killed', () =>
      cases.every((each) => {
        const app = appOf(...each);
        if (each[0] === 'killed in line') return holding.isHolding(app);
        return (stubs.get(app)?.count('convert/file') ?? 0) > 0;
      }),
    );
    // The faults that need no kill are to be known to Temporal before it.
    for (const [app, handle] of handles) {
      if (!app.startsWith('killed')) await until(`${app} on its way`, () => isPastSubmit(handle));
    }
    await Promise.all([plain.kill(), holding.kill()]);
    await startWorker({ ...options, taskQueue: queues.plain });
    await startWorker({ ...options, taskQueue: queues.held });
    await Promise.all(
      [...handles].map(async ([app, handle]) => {
        const [outcome] = await Promise.allSettled([handle.result()]);
        outcomes.set(app, outcome);
      }),
    );
  });

  afterAll(async () => {
    await Promise.all(workers.map((worker) => worker.kill()));
    await Promise.all([...stubs.values()].map((stub) => stub.close()));
    await receiver.close();
    await temporal.connection.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function startWorker(options: Parameters<typeof WorkerProcess.start>[0]): Promise<WorkerProcess> {
    const worker = await WorkerProcess.start(options);
    workers.push(worker);
    return worker;
  }

  async function startJob(app: string, policy: OnUnknownOutcome, taskQueue: string): Promise<ConversionHandle> {
    const source = path.join(folder, `${app}.md`);
    await writeFile(source, '# A report\n');
    const client = new FileConversionClient({ client: temporal, taskQueue, app });
    return client.start({
      source,
      output: 'pdf',
      destination: path.join(folder, `out-${app}`, `${app}.pdf`),
      policies: {
        ...quickPolicies,
        onUnknownOutcome: policy,
        submitTimeout: app.startsWith('time-out') ? '2 seconds' : '1 minute',
        unknownOutcomeWait: '5 seconds',
        pollAfter: '1 second',
      },
    });
  }

  it.each(cases)('%s, its callback %s, policy %s', (fault, callback, policy) => {
    const app = appOf(fault, callback, policy);
    const expected = expectedOf(fault, callback, policy);
    const outcome = outcomes.get(app);
    const seen = { ran: tasks.get(app)?.length, ...readOutcome(outcome) };
    expect(seen).toEqual(expected);
  });
});

/** The first submit meets the fault; those after it are answered as always. */
function arrange(stub: StubService, fault: Fault, callback: Callback): StubTask[] {
  const { tasks, run } = keepTasks(stub);
  stub.on('convert/file', (seen, response) => {
    const isFirst = stub.count('convert/file') === 1 && fault !== 'killed in line';
    if (isFirst && fault === '500 before') {
      answerJson(response, 500, {});
      return;
    }
    const task = run(seen.data['callback']);
    task.finish();
    // A while after the submit, as a conversion takes; long enough for the worker to be killed meanwhile.
    if (callback === 'arrives') setTimeout(() => void task.callBack().catch(() => undefined), 3_000).unref();
    if (!isFirst) answerRunning(response, task.id);
    else breakAnswer(fault, response);
  });
  return tasks;
}

function breakAnswer(fault: Fault, response: ServerResponse): void {
  if (fault === '500 after') answerJson(response, 500, {});
  else if (fault === 'cut') cut(response);
  // Otherwise it is never answered.
}

/** Whether the submit's outcome has reached the workflow. */
async function isPastSubmit(handle: ConversionHandle): Promise<boolean> {
  const { raw } = await handle.describe();
  return !raw.pendingActivities?.some(({ activityType }) => activityType?.name === 'conversion.convertFile');
}

function readOutcome(outcome: PromiseSettledResult<ConversionJobResult> | undefined) {
  if (outcome?.status === 'fulfilled') {
    return { outcome: outcome.value.status, twice: outcome.value.possiblyChargedTwice };
  }
  const error: unknown = outcome?.reason;
  if (!(error instanceof ConversionFailedError)) throw new Error('the job did not end', { cause: error });
  return { outcome: error.code, twice: error.details?.possiblyChargedTwice };
}
