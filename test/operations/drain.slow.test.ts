import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { ConversionHandle } from '../../src/client/conversion-handle';
import { freePort } from '../../packages/cli/src/dev-server';
import { newFolder, startProcess, type RunningProcess } from '../../packages/cli/test/fileconv';
import { quickPolicies, rigOfEachTest } from '../support/conversion-worker';
import { stubAppId, stubToken } from '../support/stub-service';
import { testTemporalAddress } from '../support/temporal';
import { until } from '../support/until';

/** SIGTERM of a busy `fileconv worker`. The test kills a worker that exceeds its grace period by far, which then has no exit code. */

const graceSeconds = 1;
const rig = rigOfEachTest({ worker: false });

async function startWorker(env: Record<string, string> = {}): Promise<RunningProcess> {
  const worker = startProcess(['worker', '--json'], {
    cwd: await newFolder(),
    timeoutMs: 30_000,
    env: {
      TEMPORAL_ADDRESS: testTemporalAddress(),
      FILECONV_WORKER_TASK_QUEUE: rig.taskQueue,
      FILECONV_WORKER_SHUTDOWN_GRACE_SECONDS: String(graceSeconds),
      FILECONV_APPS_STUB_BASE_URL: rig.stub.url,
      FILECONV_APPS_STUB_APP_ID: stubAppId,
      FILECONV_APPS_STUB_TOKEN: stubToken,
      ...env,
    },
  });
  await worker.untilJson();
  return worker;
}

const startJob = async (name: string): Promise<ConversionHandle> =>
  rig.client.start(
    {
      source: await rig.source(`${name}.md`),
      output: 'pdf',
      destination: path.join(rig.folder, `${name}.pdf`),
      policies: quickPolicies,
    },
    { workflowId: `drain-${randomUUID()}/${name}` },
  );

/** Stalls the next upload until its worker gives it up; `abandoned` resolves then. */
function holdNextUpload(): { begun: Promise<void>; abandoned: Promise<void> } {
  let begin = (): void => undefined;
  let abandon = (): void => undefined;
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const abandoned = new Promise<void>((resolve) => (abandon = resolve));
  let isHeld = false;
  rig.stub.onArrival('upload/file', (request) => {
    if (isHeld) return Promise.resolve();
    isHeld = true;
    begin();
    return new Promise((_resolve, reject) =>
      request.once('close', () => {
        abandon();
        reject(new Error('given up'));
      }),
    );
  });
  return { begun, abandoned };
}

it('a worker that gets SIGTERM gives up transfers after the grace period but completes a submit; another worker continues, and nothing is submitted twice', async () => {
  const health = `127.0.0.1:${await freePort()}`;
  const worker = await startWorker({ FILECONV_WORKER_HEALTH_ADDRESS: health });
  let answerSubmit = (): void => undefined;
  rig.stub.on('convert/file', (seen, response) => void (answerSubmit = () => rig.stub.answerAsAlways(seen, response)));
  const submitting = await startJob('submitting');
  await until('the submit is on its way', () => rig.stub.count('convert/file') === 1);
  const upload = holdNextUpload();
  const uploading = await startJob('uploading');
  await upload.begun;

  worker.child.kill('SIGTERM');
  await until('it says that it drains', async () => (await fetch(`http://${health}/readyz`)).status === 503);
  expect((await fetch(`http://${health}/healthz`)).status).toBe(200);
  const late = await startJob('late');
  await upload.abandoned;
  // Beyond the grace period, the worker still waits: the answer is the only proof of the submit.
  rig.stub.asAlways('convert/file');
  answerSubmit();
  expect(await worker.ended).toMatchObject({ code: 0, signal: null });
  expect(rig.stub.count('convert/file')).toBe(1);

  const next = await startWorker();
  const results = await Promise.all([uploading, submitting, late].map((job) => job.result()));
  expect(results.map(({ status, possiblyChargedTwice }) => ({ status, possiblyChargedTwice }))).toEqual(
    Array.from({ length: 3 }, () => ({ status: 'succeeded', possiblyChargedTwice: false })),
  );
  expect(rig.stub.count('convert/file')).toBe(3);
  expect(await readFile(path.join(rig.folder, 'uploading.pdf'))).toEqual(rig.stub.output);
  expect(await next.end('SIGTERM')).toMatchObject({ code: 0 });
});

it('a second signal ends a worker at once', async () => {
  const health = `127.0.0.1:${await freePort()}`;
  const hour = { FILECONV_WORKER_SHUTDOWN_GRACE_SECONDS: '3600' };
  const worker = await startWorker({ FILECONV_WORKER_HEALTH_ADDRESS: health, ...hour });
  const upload = holdNextUpload();
  const job = await startJob('uploading');
  await upload.begun;
  worker.child.kill('SIGTERM');
  await until('it drains', async () => (await fetch(`http://${health}/readyz`)).status === 503);
  expect(await worker.end('SIGTERM')).toMatchObject({ code: null, signal: 'SIGTERM' });
  await rig.temporal.workflow.getHandle(job.workflowId).terminate();
});
