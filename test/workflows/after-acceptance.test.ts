import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import path from 'node:path';
import { ConversionFailedError } from '../../src/client/conversion-handle';
import type { ConversionPolicies } from '../../src/job/types';
import { rigOfEachTest } from '../support/conversion-worker';
import { retryJob } from '../support/retry';
import { answerError, answerOutput } from '../support/stub-service';

/** An accepted conversion has been paid for. Only the service's own answer about the task may make a job give it up. */

const rig = rigOfEachTest();

const destination = () => path.join(rig.folder, 'out', 'report.pdf');

async function convert(policies: ConversionPolicies = {}) {
  // Programs may choose such ids; what a message says to type must work with them.
  const workflowId = `a job, ${randomUUID()}`;
  const handle = await rig.client.start(await rig.request({ policies }), { workflowId });
  return { workflowId: handle.workflowId, end: await handle.result().catch((error: unknown) => error) };
}

const retry = async (workflowId: string) => (await retryJob(rig.temporal, workflowId)).result();

/** `reactions.slow.test.ts` covers the other codes at each step; `failure.test.ts` covers how many answers over how long end a job. */
const places = [
  { step: 'task/response', code: 'NO_CONNECTOR_DEPENDENT_TASK' },
  { step: 'task/response', code: 'NOT_READY_DEPENDENT_TASK' },
  { step: 'download/url', code: 'MISMATCH_DEPENDENT_TASK' },
  { step: 'download/url/get', code: 'NO_CONNECTOR_DEPENDENT_TASK' },
] as const;

it.each(places)('$code once at $step costs no second conversion', async ({ step, code }) => {
  rig.stub.first(step, (response) => answerError(response, 404, code));
  expect((await convert({ onUnknownOutcome: 'fail' })).end).toMatchObject({ status: 'succeeded' });
  expect(rig.stub.count('convert/file')).toBe(1);
});

it.each([places[0], places[3]])(
  '$code for good at $step fails the job in the end, and a later retry fetches the result without a second conversion',
  async (place) => {
    const { step, code } = place;
    rig.stub.fail(step, 404, code);
    const { workflowId, end } = await convert({ conversionDeadline: 2_500, downloadDeadline: 2_500 });
    if (!(end instanceof ConversionFailedError)) throw new Error('the job did not fail');
    const { taskId = '' } = end.details ?? {};
    expect(end.message).toContain(`conversion task ${taskId}`);
    expect(end.message).toContain(`fileconv job retry '${workflowId}'`);
    expect(end.message).toContain(code);
    rig.stub.asAlways(step);
    expect(await retry(workflowId)).toMatchObject({ status: 'succeeded', taskId, possiblyChargedTwice: false });
    expect(rig.stub.count('convert/file')).toBe(1);
  },
);

describe('instead of the bytes of a result', () => {
  const page = '<!DOCTYPE html><html><head><title>Maintenance</title></head><body>Back soon.</body></html>';
  const whole = '%PDF-1.7 the converted file %%EOF';
  const answers: [string, (response: ServerResponse) => void][] = [
    ['a web page', (response) => response.writeHead(200, { 'content-type': 'text/html' }).end(page)],
    ['a web page of no type', (response) => response.writeHead(200).end(page)],
    ['nothing', (response) => response.writeHead(200, { 'content-length': 0 }).end()],
    ['an empty body in chunks', (response) => response.writeHead(200, { 'transfer-encoding': 'chunked' }).end()],
    [
      'half of it, with a length of its own',
      (response) => response.writeHead(200, { 'content-length': 12 }).end(whole.slice(0, 12)),
    ],
    [
      'half of it, without a length',
      (response) => {
        response.shouldKeepAlive = false;
        response.useChunkedEncodingByDefault = false;
        response.writeHead(200, { connection: 'close' }).end(whole.slice(0, 12));
      },
    ],
  ];

  beforeEach(() => {
    rig.stub.output = Buffer.from(whole);
    // No size: a size would give the wrong answer away.
    rig.stub.on('download/url', (_seen, response) => answerOutput(response, { connector: 'link', name: 'result' }));
  });

  it.each(answers)('%s is fetched again', async (_what, answer) => {
    rig.stub.first('download/url/get', answer, answer);
    expect((await convert()).end).toMatchObject({ status: 'succeeded' });
    expect(await readFile(destination(), 'utf8')).toBe(whole);
    expect(rig.stub.count('convert/file')).toBe(1);
  });

  it.each(answers.slice(-1))(
    '%s for good leaves no file, and a later retry fetches the result without a second conversion',
    async (_, answer) => {
      rig.stub.on('download/url/get', (_seen, response) => answer(response));
      const { workflowId, end } = await convert();
      expect(end).toMatchObject({ code: 'UNREADABLE_RESPONSE', details: { charge: 'yes' } });
      expect(existsSync(destination())).toBe(false);
      rig.stub.asAlways('download/url/get');
      expect(await retry(workflowId)).toMatchObject({ status: 'succeeded' });
      expect(await readFile(destination(), 'utf8')).toBe(whole);
      expect(rig.stub.count('convert/file')).toBe(1);
    },
  );

  it('a web page of the announced size is fetched again too, and is never saved as the result', async () => {
    rig.stub.asAlways('download/url');
    rig.stub.output = Buffer.from(page);
    expect((await convert()).end).toMatchObject({ code: 'UNREADABLE_RESPONSE', details: { charge: 'yes' } });
    expect(existsSync(destination())).toBe(false);
    expect([rig.stub.count('convert/file'), rig.stub.count('download/url/get')]).toEqual([1, 5]);
  });
});

it('says by how much the waits that the service ordered extended the deadlines of a job that gave up', async () => {
  rig.stub.fail('task/response', 429, 'TOO_MANY_REQUESTS', { 'retry-after': '1' });
  const { end } = await convert({ conversionDeadline: 700, parkedDeadline: 1_500 });
  expect(end).toMatchObject({ code: 'CONVERSION_DEADLINE' });
  expect(String(end)).toContain('orders a wait of 1 s, which is longer than the deadlines allow');
  expect(String(end)).toContain('moved its deadlines by 1 s.');
});
