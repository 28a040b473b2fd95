import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { ConversionFailedError } from '../../src/client/conversion-handle';
import type { ConversionJobResult, ConversionPolicies } from '../../src/job/types';
import { keepTasks, startCallingBackRig, type CallingBackRig, type StubTask } from '../support/calling-back';
import { quickPolicies, rigOfAllTests, type ConversionRig } from '../support/conversion-worker';
import { answerCompleted, answerError, answerJson, answerNotYet, cut } from '../support/stub-service';

/** The submit step also awaits the end of the conversion if the worker knows that it takes little time. */

const rig = rigOfAllTests();

const threeSteps = ['uploadFile', 'convertFile', 'downloadFile'];
const fourSteps = ['uploadFile', 'convertFile', 'checkTask', 'downloadFile'];

async function convert(name: string, policies: ConversionPolicies = {}, by: ConversionRig = rig, output = 'pdf') {
  const { maxCheckInterval, retryInitialInterval, retryMaximumInterval } = quickPolicies;
  const handle = await by.client.start({
    source: await by.source(`${name}.md`),
    output,
    destination: `${by.folder}/out/${name}.${output}`,
    policies: { maxCheckInterval, retryInitialInterval, retryMaximumInterval, ...policies },
  });
  const end = await handle.result().catch((error: unknown) => error);
  const { workflowId } = handle;
  return { end, workflowId, steps: await by.steps(workflowId) };
}

/** Times of the checks of the latest conversion, in milliseconds after its submit. */
function checkedAfterMs({ stub }: ConversionRig): number[] {
  const submit = stub.requests.map(({ path }) => path).lastIndexOf('convert/file');
  const checks = stub.requests.slice(submit).filter(({ path }) => path === 'task/response');
  return checks.map(({ at }) => at - (stub.requests[submit]?.at ?? 0));
}

describe('a conversion of formats that the worker knows to be quick', () => {
  let checksBefore: number;
  let submitsBefore: number;
  beforeAll(async () => expect(await convert('first', { firstCheckAfter: 20 })).toMatchObject({ steps: fourSteps }));
  beforeEach(() => {
    [checksBefore, submitsBefore] = [rig.stub.count('task/response'), rig.stub.count('convert/file')];
  });
  afterEach(() => {
    expect(rig.stub.count('convert/file')).toBe(submitsBefore + 1);
    rig.stub.asAlways('task/response');
  });
  const checks = () => rig.stub.count('task/response') - checksBefore;

  it('takes three steps, and as many requests as with four', async () => {
    const { end, steps } = await convert('quick');
    expect(end).toMatchObject({ status: 'succeeded', requests: 5, vcredits: 1, durationSeconds: 1, charge: 'yes' });
    expect([steps, checks()]).toEqual([threeSteps, 1]);
  });

  it('is checked in a step of its own if a policy sets the time of the first check', async () =>
    expect(await convert('told', { firstCheckAfter: 50 })).toMatchObject({ steps: fourSteps }));

  it.each<[string, string[], (response: ServerResponse, id: string) => void]>([
    ['"not yet"', fourSteps, answerNotYet],
    ['a refusal', fourSteps, (response) => answerError(response, 429, 'TOO_MANY_REQUESTS', { 'retry-after': '1' })],
    ['a failure', fourSteps, (response) => answerError(response, 500, 'INTERNAL_SERVER_ERROR')],
    ['what nobody can read', fourSteps, (response) => answerJson(response, 200, { result: 'none' })],
    ['a closed connection', fourSteps, cut],
    ['nothing', fourSteps, () => undefined],
  ])('continues in the usual step after %s, and counts each request', async (title, expected, answer) => {
    let asked = 0;
    rig.stub.on('task/response', ({ connector: id }, response) => {
      asked += 1;
      if (asked === 1) answer(response, id);
      else answerCompleted(response, id);
    });
    const { end, steps } = await convert(title.replaceAll(/\W+/g, '-'));
    expect(end).toMatchObject({ status: 'succeeded', requests: 6, possiblyChargedTwice: false });
    expect([steps, checks()]).toEqual([expected, 2]);
  });

  it('takes three steps even if the service answers slowly', async () => {
    rig.stub.on('task/response', async (seen, response) => {
      await sleep(2_000);
      rig.stub.answerAsAlways(seen, response);
    });
    expect(await convert('late-answer')).toMatchObject({ end: { requests: 5 }, steps: threeSteps });
  });

  it('fails with the error of its task', async () => {
    rig.stub.on('task/response', ({ connector: id }, response) => {
      answerCompleted(response, id, { error: { code: 'INVALID_FILE', message: 'It is damaged.' } });
    });
    const { end } = await convert('failing', { maxResubmissions: 0 });
    expect(end).toBeInstanceOf(ConversionFailedError);
    expect(end).toMatchObject({ details: { charge: 'no' } });
  });
});

it('a conversion of one second is checked no later than its policy allows', async () => {
  await convert('second', { firstCheckAfter: 1_000 }, rig, 'docx');
  await convert('impatient', { maxCheckInterval: 100 }, rig, 'docx');
  expect(checkedAfterMs(rig)[0]).toBeLessThan(950);
});

it('a task whose submit was cut off at an unknown time does not affect the expected duration of its formats', async () => {
  const maxCheckInterval = '1 minute';
  await convert('timed', { firstCheckAfter: 1_000 }, rig, 'odt');
  // Long after the server has given the submit's attempt up, however late it does.
  rig.stub.on('task/response', async (seen, response) => {
    await sleep(2_000);
    rig.stub.answerAsAlways(seen, response);
  });
  const cutOff = await convert('cut-off', { maxCheckInterval, submitTimeout: 900 }, rig, 'odt');
  rig.stub.asAlways('task/response');
  expect(cutOff).toMatchObject({ end: { charge: 'yes' }, steps: fourSteps });
  await convert('timed-again', { maxCheckInterval }, rig, 'odt');
  expect(checkedAfterMs(rig)[0]).toBeGreaterThan(700);
});

it('a task of an earlier run, which may have ended long ago, does not affect the expected duration of its formats', async () => {
  const earlier = { charge: 'yes' as const, taskId: 'task-of-before' };
  await rig.client.convert(await rig.request({ output: 'html', destination: undefined, earlier }));
  expect(await convert('new', {}, rig, 'html')).toMatchObject({ steps: fourSteps });
});

describe.each([
  ['the process of its worker', true],
  ['another process', false],
])('a quick conversion whose callback comes to %s', (_where, isHere) => {
  let callingBack: CallingBackRig;
  /** The task of the latest submit. */
  let task: StubTask;
  let atSubmit: () => unknown;
  let onWait: () => unknown;
  let answers: number[];
  /** The timers of the latest job's workflow, in milliseconds. */
  let timers: number[];

  const callBack = async () => answers.push(await task.callBack());
  const end = () => task.finish();

  /** Answers "not yet" to the first check, and completed to the next. */
  const endAfterQuestion = (then: () => unknown) =>
    callingBack.stub.first('task/response', (response) => {
      answerNotYet(response, task.id);
      end();
      then();
    });

  beforeAll(async () => (callingBack = await startCallingBackRig(isHere ? { onWait: () => onWait() } : {})));
  beforeEach(() => {
    [answers, atSubmit, onWait] = [[], () => undefined, () => undefined];
    keepTasks(callingBack.stub, async (accepted) => {
      task = accepted;
      await atSubmit();
    });
  });
  afterAll(() => callingBack.close());

  async function converted(name: string, pollAfter: string | number = '1 hour', output = 'pdf') {
    const { end: result, steps, workflowId } = await convert(name, { pollAfter }, callingBack, output);
    expect(result).toMatchObject({ status: 'succeeded', charge: 'yes', possiblyChargedTwice: false });
    expect(answers.every((status) => status === 204)).toBe(true);
    const events = await callingBack.events(workflowId);
    const signals = events.filter((event) => event.workflowExecutionSignaledEventAttributes).length;
    timers = events.flatMap(({ timerStartedEventAttributes: timer }) => {
      const { seconds, nanos } = timer?.startToFireTimeout ?? {};
      return timer ? [Number(seconds ?? 0) * 1_000 + (nanos ?? 0) / 1e6] : [];
    });
    return { steps, requests: (result as ConversionJobResult).requests, signals };
  }

  it('takes four steps at first, and three once it is known to be quick', async () => {
    atSubmit = async () => {
      end();
      await callBack();
    };
    expect(await converted('first')).toEqual({ steps: fourSteps, requests: 5, signals: 1 });
    expect(await converted('quick')).toEqual({ steps: threeSteps, requests: 5, signals: 1 });
  });

  it('takes three steps when no callback comes', async () => {
    atSubmit = end;
    expect(await converted('silent')).toEqual({ steps: threeSteps, requests: 5, signals: 0 });
  });

  it('waits for its callback when it turns out to be slow', async () => {
    endAfterQuestion(() => void callBack());
    expect(await converted('slow')).toEqual({ steps: fourSteps, requests: 6, signals: 1 });
  });

  it('is checked at the time of its policy, whether or not its submit waits', async () => {
    atSubmit = end;
    await converted('impatient', 100);
    // Otherwise the first check would come after 1.2 seconds.
    expect(checkedAfterMs(callingBack)[0]).toBeLessThan(1_150);
  });

  it('does not count as quick when callbacks come late, even if the service reports a short duration', async () => {
    atSubmit = () => {
      const late = task;
      setTimeout(() => {
        late.finish();
        void late.callBack();
      }, 2_000);
    };
    await converted('queued', '1 hour', 'odt');
    expect(await converted('queued-again', '1 hour', 'odt')).toEqual({ steps: fourSteps, requests: 5, signals: 1 });
  });

  if (!isHere) return;

  it('is checked again pollAfter after its submit', async () => {
    endAfterQuestion(() => undefined);
    expect(await converted('patient', 2_000)).toEqual({ steps: fourSteps, requests: 6, signals: 0 });
    // The time that the submit has waited is deducted.
    expect(Math.max(0, ...timers)).toBeLessThan(2_000);
  });

  it('needs no signal when its submit waits', async () => {
    onWait = () => {
      end();
      void callBack();
    };
    expect(await converted('awaited')).toEqual({ steps: threeSteps, requests: 5, signals: 0 });
  });

  it('does not wait for a second callback if the service does not report the end yet', async () => {
    onWait = () => void callBack();
    endAfterQuestion(() => undefined);
    expect(await converted('early')).toEqual({ steps: fourSteps, requests: 6, signals: 0 });
  });
});
