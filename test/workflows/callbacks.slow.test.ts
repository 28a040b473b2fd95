import { randomUUID } from 'node:crypto';
import type { ConversionHandle } from '../../src/client/conversion-handle';
import type { ConversionPolicies } from '../../src/job/types';
import { conversionCallbackSignal } from '../../src/job/names';
import { callbackKeyText, callingBackRigOfEachTest, keepTasks, type StubTask } from '../support/calling-back';
import { answerCompleted, answerError, answerJson, answerRunning } from '../support/stub-service';
import { SecretTraces } from '../support/secret-traces';
import { until } from '../support/until';

describe('a job that asked for a callback', () => {
  const rig = callingBackRigOfEachTest();

  /** By default, only a callback ends the wait within a test. */
  const start = async (policies: ConversionPolicies = {}): Promise<ConversionHandle> =>
    rig.client.start(await rig.request({ policies: { pollAfter: '10 minutes', ...policies } }));

  async function startWaiting(policies: ConversionPolicies = {}) {
    const kept = keepTasks(rig.stub);
    const handle = await start(policies);
    await until('the job waits', async () => (await handle.state()).phase === 'converting');
    const [task] = kept.tasks;
    if (!task) throw new Error('there is no task');
    return { handle, task };
  }

  it('waits for it without a request, and then asks once', async () => {
    const { handle, task } = await startWaiting();
    await pause(1_000);
    expect(rig.stub.count('task/response')).toBe(0);
    task.finish();
    expect(await task.callBack()).toBe(204);
    expect(await handle.result()).toMatchObject({ status: 'succeeded', taskId: task.id, requests: 5 });
    expect([rig.stub.count('task/response'), rig.stub.requests.length]).toEqual([1, 5]);
  });

  it('ignores the body: a task that is not finished is polled further', async () => {
    const { handle, task } = await startWaiting();
    await task.callBack({
      entity: { id: randomUUID(), status: 'completed' },
      result: { output: { status: 'successful' } },
    });
    await until('polls', () => rig.stub.count('task/response') >= 3);
    expect(rig.stub.requests.at(-1)?.data['connector']).toBe(task.id);
    task.finish();
    expect(await handle.result()).toMatchObject({ status: 'succeeded', taskId: task.id });
  });

  it('spends no request on duplicates, however many', async () => {
    const { handle, task } = await startWaiting();
    task.finish();
    const signal = { nonce: nonceOf(task.callbackUrl), arrivedAt: Date.now() };
    const workflow = rig.temporal.workflow.getHandle(handle.workflowId);
    await Promise.all(Array.from({ length: 50 }, () => workflow.signal(conversionCallbackSignal, signal)));
    expect(await handle.result()).toMatchObject({ status: 'succeeded', requests: 5 });
  });

  it('ignores signals with an unknown nonce or any other content', async () => {
    const { handle, task } = await startWaiting();
    const workflow = rig.temporal.workflow.getHandle(handle.workflowId);
    const forged = [
      { nonce: randomUUID() },
      undefined,
      null,
      'x',
      7,
      [],
      { nonce: null },
      { nonce: {}, taskId: task.id },
    ];
    for (const each of forged) await workflow.signal(conversionCallbackSignal, each);
    await pause(500);
    expect(rig.stub.count('task/response')).toBe(0);
    task.finish();
    await task.callBack();
    expect(await handle.result()).toMatchObject({ status: 'succeeded', requests: 5 });
  });

  it('polls after pollAfter when it is lost', async () => {
    const { handle, task } = await startWaiting({ pollAfter: 1_500 });
    task.finish();
    const result = await handle.result();
    expect(result).toMatchObject({ status: 'succeeded', requests: 5 });
    expect(result.phaseMs.converting).toBeGreaterThanOrEqual(1_500);
  });

  it('asks at once if the callback arrives after polling has begun', async () => {
    const { handle, task } = await startWaiting({
      pollAfter: 100,
      maxCheckInterval: '1 hour',
      firstCheckAfter: '1 hour',
    });
    await until('a poll', () => rig.stub.count('task/response') === 1);
    await pause(1_000);
    const polls = rig.stub.count('task/response');
    await until('a long pause between polls', () => pausesFor(handle, 2_500));
    task.finish();
    await task.callBack();
    expect(await handle.result()).toMatchObject({ status: 'succeeded' });
    const { events } = await rig.temporal.workflow.getHandle(handle.workflowId).fetchHistory();
    expect(events?.some((event) => event.activityTaskCancelRequestedEventAttributes)).toBe(true);
    expect(polls).toBeGreaterThan(0);
  });

  it('answers a late callback with 204, and ignores it', async () => {
    const { handle, task } = await startWaiting({ pollAfter: 100 });
    task.finish();
    await handle.result();
    expect(await task.callBack()).toBe(204);
  });

  it('has a new nonce for each submit, and ignores a callback to an earlier submit', async () => {
    let failed = false;
    const { tasks, run } = keepTasks(rig.stub);
    rig.stub.on('convert/file', (seen, response) => {
      const { id } = run(seen.data['callback']);
      const entity = failed ? { id, status: 'running' } : { id, status: 'completed' };
      const error = failed ? {} : { code: 'INTERNAL_SERVER_ERROR', message: 'x' };
      failed = true;
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ entity, result: { output: {}, error, warning: {} } }));
    });
    const handle = await start();
    await until('a second task', async () => (await handle.state()).phase === 'converting');
    const [first, second] = tasks;
    expect(nonceOf(first?.callbackUrl)).not.toBe(nonceOf(second?.callbackUrl));
    expect(await first?.callBack()).toBe(204);
    await pause(500);
    expect(rig.stub.count('task/response')).toBe(0);
    second?.finish();
    await second?.callBack();
    expect(await handle.result()).toMatchObject({ status: 'succeeded', taskId: second?.id });
  });

  describe('after a submit with an unknown outcome', () => {
    /** Answers the first submit with HTTP 500 after its callback, whose body the test chooses. */
    function breakFirst(body: (task: StubTask) => unknown) {
      const kept = keepTasks(rig.stub);
      rig.stub.on('convert/file', async (seen, response) => {
        const task = kept.run(seen.data['callback']);
        task.finish();
        if (kept.tasks.length > 1) answerRunning(response, task.id);
        else {
          await task.callBack(body(task));
          answerJson(response, 500, {});
        }
      });
      return kept;
    }

    it('follows the task that the callback names, and is not charged twice', async () => {
      const { tasks } = breakFirst(({ id }) => ({ result: { output: { connector: id } } }));
      expect(await (await start()).result()).toMatchObject({
        status: 'succeeded',
        taskId: tasks[0]?.id,
        possiblyChargedTwice: false,
        requests: 5,
      });
      expect(tasks).toHaveLength(1);
    });

    it.each(['no task', 'one that the service does not know', 'one of another submit'])(
      'leaves it to the policy when it names %s',
      async (what) => {
        const stranger = randomUUID();
        const { tasks } = breakFirst(() => (what === 'no task' ? { done: true } : { entity: { id: stranger } }));
        rig.stub.on('task/response', ({ connector: id }, response) => {
          if (id !== stranger) answerCompleted(response, id);
          else if (what === 'one of another submit')
            answerCompleted(response, id, { payload: { callback: 'of another' } });
          else answerError(response, 404, 'NO_CONNECTOR_DEPENDENT_TASK');
        });
        const result = await (await start({ pollAfter: 100 })).result();
        expect(result).toMatchObject({ taskId: tasks[1]?.id, possiblyChargedTwice: true });
      },
    );
  });

  it('keeps the key and the signature of a URL out of its history, even if the service quotes them', async () => {
    keepTasks(rig.stub);
    let signature = '';
    rig.stub.on('convert/file', (seen, response) => {
      const url = String(seen.data['callback']);
      signature = url.slice(-43);
      const error = { code: 'UNVERIFIED_DOMAIN_CALLBACK', message: `not verified: ${url}` };
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ result: { output: {}, error, warning: {} } }));
    });
    const handle = await start();
    await expect(handle.result()).rejects.toThrow('UNVERIFIED_DOMAIN_CALLBACK');
    const events = await rig.events(handle.workflowId);
    expect(signature).toHaveLength(43);
    for (const secret of [signature, callbackKeyText]) {
      expect(new SecretTraces(secret).findInValue(events)).toBeUndefined();
    }
    // Proves that the search works: it finds the message that came with the signature.
    expect(new SecretTraces('not verified').findInValue(events)).toBeDefined();
  });
});

const nonceOf = (url: string | undefined): string => url?.split('.').at(-2) ?? '';

/** Whether the next attempt of the job's activity is further away than this. */
async function pausesFor(handle: ConversionHandle, milliseconds: number): Promise<boolean> {
  const next = Number((await handle.describe()).raw.pendingActivities?.[0]?.scheduledTime?.seconds ?? 0) * 1_000;
  return next - Date.now() > milliseconds;
}

const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));
