import type { ServerResponse } from 'node:http';
import { defaultPayloadConverter } from '@temporalio/common';
import { ConversionFailedError } from '../../src/client/conversion-handle';
import type { ConversionPolicies } from '../../src/job/types';
import { rigOfEachTest } from '../support/conversion-worker';
import { answerCompleted, answerError, answerJson, answerOutput, answerRunning, cut } from '../support/stub-service';
import { until } from '../support/until';

/** For contradictory or incomplete answers, a job takes the reading that can't pay twice. */

const rig = rigOfEachTest();

const id = 'task-1';

/** Runs a job and returns its result or its failure. */
const convert = async (policies: ConversionPolicies = {}, mode?: 'sync') =>
  rig.client.convert(await rig.request({ policies, ...(mode && { mode }) })).catch((error: unknown) => {
    if (!(error instanceof ConversionFailedError)) throw error;
    return { status: 'failed', code: error.code, ...error.details };
  });

const converted = () => rig.stub.count('convert/file');

async function endByHand(job: string, how: 'failed' | 'completed'): Promise<void> {
  const { workflowId, runId, raw } = await rig.temporal.workflow.getHandle(job).describe();
  const { activityId } = (raw.pendingActivities ?? [])[0] ?? {};
  const activity = { namespace: 'default', workflowId, runId, activityId: activityId ?? null };
  const { workflowService } = rig.temporal;
  if (how === 'completed') {
    const result = { payloads: [defaultPayloadConverter.toPayload({})] };
    await workflowService.respondActivityTaskCompletedById({ ...activity, result });
  } else {
    const failure = { applicationFailureInfo: { nonRetryable: true } };
    await workflowService.respondActivityTaskFailedById({ ...activity, failure });
  }
}

it('a step that an operator completes with a result of no step fails the job, which says so', async () => {
  const held: ServerResponse[] = [];
  rig.stub.on('upload/file', (_seen, response) => void held.push(response));
  const job = await rig.client.start(await rig.request());
  await until('it is uploading', () => held.length === 1);
  await endByHand(job.workflowId, 'completed');
  await expect(job.result()).rejects.toThrow('completed by hand in Temporal');
  held.forEach(cut);
});

it('a check that an operator completes leaves the task known, and the next job fetches it', async () => {
  rig.stub.on('task/response', (seen, response) => answerRunning(response, String(seen.data['connector'])));
  const job = await rig.client.start(await rig.request());
  await until('it is checked', () => rig.stub.count('task/response') > 0);
  await endByHand(job.workflowId, 'completed');
  await expect(job.result()).rejects.toMatchObject({ details: { charge: 'yes' } });
  rig.stub.asAlways('task/response');
  expect(await convert()).toMatchObject({ status: 'succeeded', possiblyChargedTwice: false });
  expect(converted()).toBe(1);
});

describe('a submit', () => {
  it.each(['failed', 'completed'] as const)(
    'that an operator marks as %s in Temporal may have been charged',
    async (how) => {
      const held: ServerResponse[] = [];
      rig.stub.on('convert/file', (seen, response) => {
        rig.stub.convert(seen);
        held.push(response);
      });
      const job = await rig.client.start(await rig.request({ policies: { onUnknownOutcome: 'fail' } }));
      await until('it is submitted', () => rig.stub.conversions.size === 1);
      await endByHand(job.workflowId, how);
      const result = job.result();
      await expect(result).rejects.toThrow(/(completed|ended) by hand in Temporal/);
      await expect(result).rejects.toMatchObject({ details: { charge: 'maybe' } });
      expect(await convert({ onUnknownOutcome: 'fail' })).toMatchObject({ charge: 'maybe' });
      expect(converted()).toBe(1);
      held.forEach(cut);
    },
  );

  it('whose refusal holds half a character, as it came or where it is cut, fails, and the worker lives', async () => {
    for (const message of ['half \ud83d', `${'x'.repeat(499)}\u{1f600} and more`]) {
      rig.stub.on('convert/file', (_seen, response) => {
        answerJson(response, 400, { result: { output: {}, error: { code: 'HALF_\ud83d', message }, warning: {} } });
      });
      expect(await convert()).toMatchObject({ code: 'HALF_\ufffd', charge: 'no' });
    }
  });

  it.each([
    ['null', null],
    ['empty', {}],
    ['an empty list', []],
  ])(
    'answered as completed with a result that is %s counts as accepted, and the result is requested from the task',
    async (_what, result) => {
      rig.stub.on('convert/file', (_seen, response) =>
        answerJson(response, 200, { entity: { id, status: 'completed' }, result }),
      );
      expect(await convert({ onUnknownOutcome: 'fail' })).toMatchObject({ status: 'succeeded', taskId: id });
      expect(converted()).toBe(1);
    },
  );

  it('answered with an unknown output status counts as charged when the job fails', async () => {
    const odd = {
      entity: { id, status: 'completed', vcredits: 1 },
      result: { output: { connector: id, status: 'partial' } },
    };
    rig.stub.on('convert/file', (_seen, response) => answerJson(response, 200, odd));
    rig.stub.on('task/response', (_seen, response) => answerOutput(response, odd));
    expect(await convert({}, 'sync')).toMatchObject({ code: 'UNKNOWN_OUTPUT_STATUS', charge: 'yes', taskId: id });
    expect(converted()).toBe(1);
  });

  it.each(['running', 'hold'])(
    'refused with a task that is %s counts as accepted, and the task is polled',
    async (status) => {
      rig.stub.on('convert/file', (_seen, response) =>
        answerJson(response, 200, {
          entity: { id, status },
          result: { output: {}, error: { code: 'TOO_MANY_REQUESTS', message: 'wait.' } },
        }),
      );
      expect(await convert({ onUnknownOutcome: 'fail' })).toMatchObject({ status: 'succeeded', taskId: id });
      expect(converted()).toBe(1);
    },
  );

  it('refused with a task that was charged is not repeated', async () => {
    const odd = {
      entity: { id, status: 'completed', vcredits: 2 },
      result: { output: {}, error: { code: 'INTERNAL_SERVER_ERROR', message: 'late.' } },
    };
    rig.stub.on('convert/file', (_seen, response) => answerJson(response, 500, odd));
    rig.stub.on('task/response', (_seen, response) => answerOutput(response, odd));
    expect(await convert()).toMatchObject({ code: 'INTERNAL_SERVER_ERROR', charge: 'maybe' });
    expect(converted()).toBe(1);
  });
});

describe('a task', () => {
  const error = { code: 'INTERNAL_SERVER_ERROR', message: 'tries again.' };
  beforeEach(() => rig.stub.on('convert/file', (_seen, response) => answerRunning(response, id)));

  it('that is running with an error in its result is polled further: only a completed task has failed', async () => {
    const running = (response: ServerResponse) =>
      answerOutput(response, { entity: { id, status: 'running' }, result: { output: {}, error } });
    rig.stub.first('task/response', running, running);
    expect(await convert()).toMatchObject({ status: 'succeeded', possiblyChargedTwice: false });
    expect(converted()).toBe(1);
  });

  it('that is completed before its result is available is polled further', async () => {
    const early = (response: ServerResponse) =>
      answerOutput(response, { entity: { id, status: 'completed' }, result: null });
    rig.stub.first('task/response', early, early);
    expect(await convert()).toMatchObject({ status: 'succeeded' });
    expect(converted()).toBe(1);
  });

  it.each([
    ['costs vCredits', { entity: { id, status: 'completed', vcredits: 3 }, result: { output: {}, error } }],
    ['is successful', { entity: { id, status: 'completed' }, result: { output: { status: 'successful' }, error } }],
  ])('that has failed and yet %s is not converted again, and may have been charged', async (_what, output) => {
    rig.stub.on('task/response', (_seen, response) => answerOutput(response, output));
    expect(await convert({ onUnknownOutcome: 'resubmit' })).toMatchObject({ code: error.code, charge: 'maybe' });
    expect(converted()).toBe(1);
  });
});

it('a RETRY-AFTER of 0 or of a past date causes the shortest pause, and fails no job', async () => {
  const refuse = (status: number, wait: string) => (response: ServerResponse) =>
    answerError(response, status, 'TOO_MANY_REQUESTS', { 'retry-after': wait });
  rig.stub.first('convert/file', refuse(429, '0'));
  rig.stub.first('download/url', refuse(503, new Date(Date.now() - 60_000).toUTCString()));
  expect(await convert()).toMatchObject({ status: 'succeeded' });
  expect([converted(), rig.stub.count('download/url')]).toEqual([2, 2]);
});

describe('an optional key', () => {
  const odd = { vcredits: null, type: 5, created_at: 1_790_000_000 };

  it.each([
    ['null', { name: null, size: null, url: null, expires_at: null }],
    ['of another kind', { name: 7, size: -1, expires_at: 1_790_000_000 }],
  ])('may be %s', async (_what, extras) => {
    // No size is announced, so the bytes must be complete for their format.
    rig.stub.output = Buffer.from('%PDF-1.7 %%EOF');
    rig.stub.on('upload/file', (_seen, response) => answerOutput(response, { connector: 'up', ...extras }));
    rig.stub.on('convert/file', (_seen, response) =>
      answerJson(response, 200, { entity: { ...odd, id, status: 'running' }, result: { warning: 'soon' } }),
    );
    rig.stub.on('task/response', (_seen, response) =>
      answerOutput(response, {
        entity: { ...odd, id, status: 'completed' },
        result: { output: { connector: id, status: 'successful', duration: null } },
      }),
    );
    rig.stub.on('download/url', (_seen, response) => answerOutput(response, { connector: 'link', ...extras }));
    expect(await convert()).toMatchObject({ status: 'succeeded' });
    expect(converted()).toBe(1);
  });
});

it('an empty id names no task, so the outcome of the submit is unknown', async () => {
  rig.stub.on('convert/file', (_seen, response) => answerRunning(response, ''));
  expect(await convert({ onUnknownOutcome: 'fail' })).toMatchObject({ code: 'OUTCOME_UNKNOWN', charge: 'maybe' });
});

it('a task that failed without a charge is converted again', async () => {
  rig.stub.on('convert/file', (_seen, response) => answerRunning(response, id));
  rig.stub.first('task/response', (response) =>
    answerCompleted(response, id, { error: { code: 'INTERNAL_SERVER_ERROR', message: 'broken.' } }),
  );
  expect(await convert()).toMatchObject({ status: 'succeeded', possiblyChargedTwice: false });
  expect(converted()).toBe(2);
});
