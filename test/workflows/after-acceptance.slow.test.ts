import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import path from 'node:path';
import { ConversionFailedError } from '../../src/client/conversion-handle';
import type { ConversionPolicies } from '../../src/job/types';
import { rigOfEachTest } from '../support/conversion-worker';
import { retryJob } from '../support/retry';
import { answerError, answerNotYet, answerOutput } from '../support/stub-service';

/** A conversion that the service has accepted is paid for: no answer but its own about the task gives it up. */

const rig = rigOfEachTest();

const destination = () => path.join(rig.folder, 'out', 'report.pdf');

async function convert(policies: ConversionPolicies = {}) {
  const handle = await rig.client.start(await rig.request({ policies }));
  const end = await handle.result().catch((error: unknown) => error);
  return { workflowId: handle.workflowId, end };
}

/** As `fileconv job retry` does. */
async function retry(workflowId: string) {
  return (await retryJob(rig.temporal, workflowId)).result();
}

const places = [
  { step: 'task/response', code: 'NOT_READY_DEPENDENT_TASK' },
  { step: 'download/url', code: 'MISMATCH_DEPENDENT_TASK' },
  { step: 'download/url/get', code: 'NO_CONNECTOR_DEPENDENT_TASK' },
] as const;

it.each(places)('$code for ever at $step ends at last; a retry later delivers it without another', async (place) => {
  const { step, code } = place;
  rig.stub.on(step, (_seen, response) => answerError(response, 404, code));
  const { workflowId, end } = await convert({ conversionDeadline: 2_500, downloadDeadline: 2_500 });
  if (!(end instanceof ConversionFailedError)) throw new Error('the job did not fail');
  const { taskId = '' } = end.details ?? {};
  expect(end.message).toContain(`conversion task ${taskId}`);
  expect(end.message).toContain(`fileconv job retry ${workflowId}`);
  expect(end.message).toContain(code);
  rig.stub.asAlways(step);
  expect(await retry(workflowId)).toMatchObject({ status: 'succeeded', taskId, possiblyChargedTwice: false });
  expect(rig.stub.count('convert/file')).toBe(1);
});

describe('in place of the bytes of a result', () => {
  const page = '<!DOCTYPE html><html><head><title>Maintenance</title></head><body>Back soon.</body></html>';
  const whole = '%PDF-1.7 the converted file %%EOF';
  const answers: [string, (response: ServerResponse) => void][] = [
    ['a web page', (response) => response.writeHead(200, { 'content-type': 'text/html' }).end(page)],
    ['nothing', (response) => response.writeHead(200, { 'content-length': 0 }).end()],
  ];

  beforeEach(() => {
    rig.stub.output = Buffer.from(whole);
    // Without a size, which would tell.
    rig.stub.on('download/url', (_seen, response) => answerOutput(response, { connector: 'link', name: 'result' }));
  });

  it.each(answers)(
    '%s for ever is no file; a retry later delivers it without another conversion',
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

  it.each([
    ['an error in JSON', '{"error":{"code":"BUSY"}}'],
    ['nothing', ''],
  ])('%s of the announced size is fetched again too, and never gets the name of a result', async (_what, content) => {
    rig.stub.asAlways('download/url');
    rig.stub.output = Buffer.from(content);
    expect((await convert()).end).toMatchObject({ code: 'UNREADABLE_RESPONSE', details: { charge: 'yes' } });
    expect(existsSync(destination())).toBe(false);
    expect([rig.stub.count('convert/file'), rig.stub.count('download/url/get')]).toEqual([1, 5]);
  });
});

it('asks once more just before the deadline of the conversion, instead of giving up a pause earlier', async () => {
  const polls: number[] = [];
  rig.stub.on('task/response', (seen, response) => {
    polls.push(Date.now());
    answerNotYet(response, String(seen.data['connector']));
  });
  const began = Date.now();
  const { end } = await convert({ conversionDeadline: 12_000, firstCheckAfter: 6_000, maxCheckInterval: 60_000 });
  expect(end).toMatchObject({ code: 'CONVERSION_DEADLINE' });
  // The next pause would have ended after some 19 seconds.
  expect(polls.length).toBeGreaterThanOrEqual(2);
  expect((polls.at(-1) ?? 0) - began).toBeGreaterThan(6_400);
});
