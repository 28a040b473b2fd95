import { mkdir, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import type { ConversionHandle } from '../../src/client/conversion-handle';
import type { ConversionRequest } from '../../src/client/job-request';
import { inspectJob } from '../../src/client/operations/inspect-job';
import type { FileStore, MarkerOptions } from '../../src/storage/file-store';
import { isPartialName } from '../../src/storage/partial-file';
import { quickPolicies, startRig, type ConversionRig } from '../support/conversion-worker';
import { machineWith } from '../support/other-machine';
import { answerCompleted, answerError } from '../support/stub-service';
import { until } from '../support/until';

/** Workers on several machines, of which some do not see the folder that a job writes to. */

let rig: ConversionRig;
/** The machine whose worker takes the next step. */
let machine: FileStore;
let first: FileStore;
let sharing: FileStore;
let other: FileStore;
let out: string;
let otherOut: string;
let afterUpload: (() => void | Promise<void>) | undefined;

const files: FileStore = {
  openSource: (uri) => machine.openSource(uri),
  prepareDestination: (options) => machine.prepareDestination(options),
  writeDestination: (options) => machine.writeDestination(options),
  discardPartial: (options) => machine.discardPartial(options),
  look: (uri) => machine.look(uri),
  read: (uri, options) => machine.read(uri, options),
  walk: (uri, options) => machine.walk(uri, options),
  remove: (uri) => machine.remove(uri),
  get sharing() {
    const own = machine.sharing;
    if (!own) return undefined;
    const leaveMarker = async (options: MarkerOptions) => {
      const isLeft = await own.leaveMarker(options);
      await afterUpload?.();
      return isLeft;
    };
    return { ...own, leaveMarker };
  },
};

beforeAll(async () => {
  rig = await startRig({ stores: { file: files } });
});
afterAll(async () => {
  await rig.close();
});

beforeEach(async () => {
  out = path.join(rig.folder, 'out');
  otherOut = path.join(rig.folder, 'disk-of-the-other');
  for (const each of [out, otherOut]) {
    await rm(each, { recursive: true, force: true });
    await mkdir(each);
  }
  first = machineWith({ view: 'first', folder: out, disk: out });
  sharing = machineWith({ view: 'sharing', folder: out, disk: out });
  other = machineWith({ view: 'other', folder: out, disk: otherOut });
  machine = first;
  afterUpload = undefined;
  rig.stub.requests.length = 0;
  rig.stub.conversions.clear();
  for (const endpoint of ['convert/file', 'task/response', 'upload/file']) {
    rig.stub.on(endpoint, (seen, response) => rig.stub.answerAsAlways(seen, response));
  }
});

async function start(request: Partial<ConversionRequest> = {}, options = {}): Promise<ConversionHandle> {
  const source = await rig.source('report.md');
  const destination = `${out}/`;
  return rig.client.start({ source, output: 'pdf', destination, policies: quickPolicies, ...request }, options);
}

function moveTo(next: FileStore): void {
  machine = next;
}

function waitingOf({ workflowId }: ConversionHandle) {
  return inspectJob(rig.temporal, workflowId).then(({ waiting }) => waiting);
}

async function untilItWaits(job: ConversionHandle): Promise<void> {
  await until('it says what it waits for', async () => (await waitingOf(job))?.reason === 'sharedFolder');
  expect(await waitingOf(job)).toMatchObject({
    waitsFor: "a worker that sees the destination's folder",
    because: expect.stringMatching(/does not see the folder .* Share the folder/) as string,
  });
}

async function expectInPlace(job: ConversionHandle): Promise<void> {
  expect(await job.result()).toMatchObject({ status: 'succeeded', charge: 'yes', possiblyChargedTwice: false });
  expect(rig.stub.conversions.size).toBe(1);
  expect([await readdir(out), await readdir(otherOut)]).toEqual([['report.pdf'], []]);
}

async function activitiesOf({ workflowId }: ConversionHandle): Promise<string[]> {
  const { events } = await rig.temporal.workflow.getHandle(workflowId).fetchHistory();
  return events?.flatMap((event) => event.activityTaskScheduledEventAttributes?.activityType?.name ?? []) ?? [];
}

describe('a job whose steps meet workers that do not see the folder of its upload', () => {
  it.each(['first', 'sharing'])('pays for nothing, says so, and continues with one that does (%s)', async (right) => {
    afterUpload = () => moveTo(other);
    const job = await start();
    await untilItWaits(job);
    expect(rig.stub.count('convert/file')).toBe(0);
    moveTo(right === 'first' ? first : sharing);
    await expectInPlace(job);
  });

  it.each(['first', 'sharing'])('fetches its result on one that does and nowhere else (%s)', async (right) => {
    rig.stub.on('task/response', (seen, response) => {
      moveTo(other);
      answerCompleted(response, String(seen.data['connector']));
    });
    const job = await start();
    await untilItWaits(job);
    expect(rig.stub.count('download/url')).toBe(0);
    expect(await readdir(otherOut)).toEqual([]);
    moveTo(right === 'first' ? first : sharing);
    await expectInPlace(job);
  });

  it('needs no marker on the machine of its upload: somebody may have removed it', async () => {
    rig.stub.on('task/response', async (seen, response) => {
      for (const name of await readdir(out)) await rm(path.join(out, name));
      moveTo(sharing);
      answerCompleted(response, String(seen.data['connector']));
    });
    const job = await start();
    await untilItWaits(job);
    moveTo(first);
    await expectInPlace(job);
  });

  it('uploads again only where it uploaded first', async () => {
    rig.stub.on('convert/file', (_seen, response) => {
      moveTo(other);
      rig.stub.on('convert/file', (again, response) => rig.stub.answerAsAlways(again, response));
      answerError(response, 404, 'FILE_NOT_EXISTS');
    });
    const job = await start();
    await untilItWaits(job);
    expect(rig.stub.count('upload/file')).toBe(1);
    moveTo(sharing);
    await expectInPlace(job);
  });
});

it('a job leaves a hidden file in the folder as long as it runs, which no folder is converted with, and costs no step more', async () => {
  let seen: string[] = [];
  rig.stub.on('task/response', async (request, response) => {
    seen = await readdir(out);
    answerCompleted(response, String(request.data['connector']));
  });
  const job = await start();
  await expectInPlace(job);
  expect(seen).toEqual([expect.stringMatching(/^\.job\.[0-9a-f]{12}\.0\.part$/)]);
  expect(isPartialName(seen[0] ?? '')).toBe(true);
  expect(await activitiesOf(job)).toEqual([
    'conversion.uploadFile',
    'conversion.convertFile',
    'conversion.checkTask',
    'conversion.downloadFile',
  ]);
});

describe('no marker stays', () => {
  it('of a job whose conversion fails', async () => {
    rig.stub.on('task/response', (seen, response) =>
      answerCompleted(response, String(seen.data['connector']), { error: { code: 'CORRUPT_FILE', message: 'no.' } }),
    );
    const job = await start();
    await expect(job.result()).rejects.toMatchObject({ details: { phase: 'converting' } });
    expect(await readdir(out)).toEqual([]);
  });

  it.each(['submit', 'download'])('of a job that finds its result there at its %s and skips', async (step) => {
    const appear = async () => {
      await rig.source('out/report.pdf', 'somebody else’s');
    };
    if (step === 'submit') afterUpload = appear;
    rig.stub.on('task/response', async (seen, response) => {
      await appear();
      answerCompleted(response, String(seen.data['connector']));
    });
    const job = await start({ onExisting: 'skip' });
    expect(await job.result()).toMatchObject({ status: 'skipped' });
    expect(await readdir(out)).toEqual(['report.pdf']);
  });

  it('of a job that is cancelled while the service converts', async () => {
    rig.stub.on('task/response', (_seen, response) => answerError(response, 503, 'INTERNAL_SERVER_ERROR'));
    const job = await start();
    await until('it converts', async () => (await job.state()).phase === 'converting');
    await job.cancel();
    await expect(job.result()).rejects.toMatchObject({ code: 'CANCELLED' });
    expect(await readdir(out)).toEqual([]);
  });

  it('of a job that is cancelled while its upload ends', async () => {
    const workflowId = `cancelled-${rig.taskQueue}`;
    rig.stub.on('upload/file', async (seen, response) => {
      await rig.client.get(workflowId).cancel();
      await until('the workflow has heard of it', async () => {
        const { events } = await rig.temporal.workflow.getHandle(workflowId).fetchHistory();
        return events?.some((event) => event.activityTaskCancelRequestedEventAttributes) === true;
      });
      rig.stub.answerAsAlways(seen, response);
    });
    const job = await start({}, { workflowId });
    await expect(job.result()).rejects.toMatchObject({ code: 'CANCELLED' });
    // Its upload may still have been under way when the job ended.
    await rig.stopWorker();
    expect(await readdir(out)).toEqual([]);
  });
});
