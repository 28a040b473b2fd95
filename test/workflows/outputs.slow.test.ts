import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { ConversionFailedError, type ConversionHandle } from '../../src/client/conversion-handle';
import type { ConversionRequest } from '../../src/client/job-request';
import { inspectJob } from '../../src/client/operations/inspect-job';
import { planRetry, runAgain } from '../../src/client/operations/retry-job';
import type { ConversionOutput } from '../../src/shared/job';
import { quickPolicies, startRig, type ConversionRig } from '../support/conversion-worker';
import { answerError, cut, type SeenRequest } from '../support/stub-service';
import { until } from '../support/until';

/** A job with several outputs: one upload, and a job for each. */

let rig: ConversionRig;
beforeEach(async () => {
  rig = await startRig();
});
afterEach(() => rig.close());

const formatOf = ({ data }: SeenRequest) => (data['parameters'] as { output: string }).output;
const submits = () => rig.stub.requests.filter((seen) => seen.path === 'convert/file').map(formatOf);
const resultOf = (format: string) => path.join(rig.folder, 'out', `report.${format}`);
const statusesOf = (outputs: readonly { format: string; status: string }[] = []) =>
  outputs.map(({ format, status }) => `${format} ${status}`);

async function request(overrides: Partial<ConversionRequest> = {}): Promise<ConversionRequest> {
  const outputs = ['pdf', 'docx', 'html'].map((output): ConversionOutput => ({
    output,
    destination: resultOf(output),
  }));
  return {
    source: await rig.source('report.md'),
    outputs,
    describeSource: true,
    ...overrides,
    policies: { ...quickPolicies, ...overrides.policies },
  };
}

async function failureOf(job: ConversionHandle): Promise<ConversionFailedError> {
  const error: unknown = await job.result().catch((reason: unknown) => reason);
  if (error instanceof ConversionFailedError) return error;
  throw new Error('the job did not fail', { cause: error });
}

/** Answers the submits of one format otherwise. */
function onFormat(format: string, answer: (...args: Parameters<Parameters<typeof rig.stub.on>[1]>) => void): void {
  rig.stub.on('convert/file', (seen, response, stub) => {
    if (formatOf(seen) === format) answer(seen, response, stub);
    else stub.answerAsAlways(seen, response);
  });
}
const asAlways = () => rig.stub.on('convert/file', (seen, response) => rig.stub.answerAsAlways(seen, response));

it('is one upload and a submit for each, leaves nothing but the results, and names each file with its size, hash and charge', async () => {
  const job = await rig.client.start(await request());
  const result = await job.result();
  expect([rig.stub.count('upload/file'), submits().sort()]).toEqual([1, ['docx', 'html', 'pdf']]);
  expect(result).toMatchObject({ status: 'succeeded', charge: 'yes', possiblyChargedTwice: false, vcredits: 3 });
  expect(result.requests).toBe(rig.stub.requests.length);
  for (const [index, format] of ['pdf', 'docx', 'html'].entries()) {
    expect(await readFile(resultOf(format), 'utf8')).toBe('converted');
    expect(result.outputs?.[index]).toMatchObject({
      format,
      workflowId: `${job.workflowId}/${format}`,
      status: 'succeeded',
      charge: 'yes',
      output: { name: `report.${format}`, bytes: 9 },
    });
  }
  expect((await readdir(path.join(rig.folder, 'out'))).sort()).toEqual(['report.docx', 'report.html', 'report.pdf']);
  const description = await job.describe();
  expect(await description.staticSummary()).toBe('report.md → pdf, docx, html');
});

it('sends each output its own parameters, also two of one format', async () => {
  const outputs = [72, 300].map((dpi) => ({ output: 'png', parameters: { dpi }, destination: resultOf(`${dpi}.png`) }));
  const { outputs: ends } = await rig.client.convert(await request({ outputs }));
  const parameters = rig.stub.requests.flatMap((seen) =>
    seen.path === 'convert/file' ? [seen.data['parameters']] : [],
  );
  expect(parameters).toEqual(
    expect.arrayContaining([
      { output: 'png', dpi: 72 },
      { output: 'png', dpi: 300 },
    ]),
  );
  expect(ends?.map(({ workflowId }) => workflowId.replace(/^.*\//, ''))).toEqual(['png', 'png-2']);
});

it('fails when one of three fails, keeps the other files, and a retry submits the third alone', async () => {
  onFormat('html', (_seen, response) => answerError(response, 403, 'FREE_PLAN_DISALLOWED'));
  const job = await rig.client.start(await request());
  const { code, message, details } = await failureOf(job);
  expect(code).toBe('FREE_PLAN_DISALLOWED');
  expect(message).toMatch(/^report\.md → pdf, docx, html: 2 of 3 outputs are there\. html: /);
  expect(statusesOf(details?.outputs)).toEqual(['pdf succeeded', 'docx succeeded', 'html failed']);
  expect(await readFile(resultOf('pdf'), 'utf8')).toBe('converted');
  asAlways();
  const inspection = await inspectJob(rig.temporal, job.workflowId);
  expect(statusesOf(inspection.outputs)).toEqual(['pdf succeeded', 'docx succeeded', 'html failed']);
  const plan = planRetry(inspection);
  if (plan.kind !== 'convert') throw new Error(plan.kind);
  const before = rig.stub.requests.length;
  const { outputs } = await (await runAgain(rig.temporal, inspection, plan)).result();
  expect(rig.stub.requests.slice(before).map((seen) => seen.path)).toEqual([
    'upload/file',
    'convert/file',
    'task/response',
    'download/url',
    'download/url/get',
  ]);
  expect(submits().at(-1)).toBe('html');
  expect(statusesOf(outputs)).toEqual(['pdf succeeded', 'docx succeeded', 'html succeeded']);
});

it('whose outcome is unknown under policy fail names the job to retry, and that retry converts the one output', async () => {
  let isCut = true;
  onFormat('html', (seen, response, stub) => {
    if (isCut) cut(response);
    else stub.answerAsAlways(seen, response);
  });
  const job = await rig.client.start(await request({ policies: { onUnknownOutcome: 'fail' } }));
  const { message } = await failureOf(job);
  expect(message).toContain(`fileconv job retry ${job.workflowId} --resubmit`);
  isCut = false;
  // The output's own job can be retried too, as long as the service has the upload.
  for (const workflowId of [`${job.workflowId}/html`, job.workflowId]) {
    const inspection = await inspectJob(rig.temporal, workflowId);
    const plan = planRetry(inspection, { resubmit: true });
    if (plan.kind !== 'convert') throw new Error(plan.kind);
    expect(await (await runAgain(rig.temporal, inspection, plan)).result()).toMatchObject({ status: 'succeeded' });
  }
  expect(submits().filter((format) => format !== 'html')).toHaveLength(2);
});

it('uploads again once for all of them when the service has lost the upload', async () => {
  let isLost = true;
  rig.stub.on('convert/file', (seen, response) => {
    if (isLost) answerError(response, 404, 'FILE_NOT_EXISTS');
    else rig.stub.answerAsAlways(seen, response);
  });
  const job = await rig.client.start(await request());
  await until('all were refused', () => submits().length === 3);
  isLost = false;
  expect(statusesOf((await job.result()).outputs)).toEqual(['pdf succeeded', 'docx succeeded', 'html succeeded']);
  expect(rig.stub.count('upload/file')).toBe(2);
});

it('fails when the service loses the upload again and again', async () => {
  rig.stub.on('convert/file', (_seen, response) => answerError(response, 404, 'FILE_NOT_EXISTS'));
  const { code } = await failureOf(await rig.client.start(await request()));
  expect([code, rig.stub.count('upload/file')]).toEqual(['FILE_NOT_EXISTS', 2]);
});

it('marks the output whose submit had an unknown outcome, and no other', async () => {
  let isFirst = true;
  onFormat('docx', (seen, response, stub) => {
    if (isFirst) {
      stub.convert(seen);
      cut(response);
    } else stub.answerAsAlways(seen, response);
    isFirst = false;
  });
  const { outputs, possiblyChargedTwice } = await rig.client.convert(await request());
  expect(possiblyChargedTwice).toBe(true);
  expect(outputs?.map((each) => each.possiblyChargedTwice ?? false)).toEqual([false, true, false]);
});

it('uploads nothing when all results are there and may stay, and converts only what is not', async () => {
  await rig.client.convert(await request());
  const again = { onExisting: 'skip' } as const;
  expect(await rig.client.convert(await request(again))).toMatchObject({ status: 'skipped', charge: 'no' });
  expect(rig.stub.count('upload/file')).toBe(1);
  const before = submits().length;
  const outputs = ['pdf', 'odt'].map((output) => ({ output, destination: resultOf(output) }));
  const result = await rig.client.convert(await request({ ...again, outputs }));
  expect(statusesOf(result.outputs)).toEqual(['pdf skipped', 'odt succeeded']);
  expect(submits().slice(before)).toEqual(['odt']);
});

it('cancels its outputs when it is cancelled, and a retry fetches what was accepted', async () => {
  rig.stub.on('task/response', (_seen, response) => answerError(response, 500, 'INTERNAL_SERVER_ERROR'));
  const job = await rig.client.start(await request());
  await until('all are accepted', () => rig.stub.conversions.size === 3 && rig.stub.count('task/response') > 2);
  await job.cancel();
  await expect(job.result()).rejects.toMatchObject({ code: 'CANCELLED' });
  rig.stub.on('task/response', (seen, response) => rig.stub.answerAsAlways(seen, response));
  const inspection = await inspectJob(rig.temporal, job.workflowId);
  expect(statusesOf(inspection.outputs)).toEqual(['pdf cancelled', 'docx cancelled', 'html cancelled']);
  const plan = planRetry(inspection);
  if (plan.kind !== 'convert') throw new Error(plan.kind);
  await (await runAgain(rig.temporal, inspection, plan)).result();
  expect([rig.stub.count('upload/file'), submits().length]).toEqual([1, 3]);
});

it.each([
  [{ output: 'pdf' }, 'output'],
  [{ destination: 'out/' }, 'destination'],
  [{ outputs: [] }, 'outputs'],
  [
    {
      outputs: [
        { output: 'pdf', destination: 'a' },
        { output: 'docx', destination: 'a' },
      ],
    },
    'outputs',
  ],
])('refuses %j beside it, and names the field', async (overrides, field) => {
  await expect(rig.client.start({ ...(await request()), ...overrides })).rejects.toThrow(field);
});

it('tells who asks while it runs how each output stands', async () => {
  let answer = (): void => undefined;
  onFormat('html', (seen, response, stub) => (answer = () => stub.answerAsAlways(seen, response)));
  const job = await rig.client.start(await request());
  await until('two are there', async () => {
    const { outputs = [] } = await job.state();
    return outputs.filter(({ status }) => status === 'succeeded').length === 2;
  });
  const { phase, waiting, outputs } = await inspectJob(rig.temporal, job.workflowId);
  expect([phase, waiting?.waitsFor]).toEqual(['converting', `its outputs, the jobs ${job.workflowId}/html`]);
  expect(statusesOf(outputs)).toEqual(['pdf succeeded', 'docx succeeded', 'html running']);
  answer();
  expect(await job.result()).toMatchObject({ status: 'succeeded' });
});
