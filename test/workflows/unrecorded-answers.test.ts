import { randomUUID } from 'node:crypto';
import type { ConversionFailedError } from '../../src/client/conversion-handle';
import type { ConversionPolicies } from '../../src/job/types';
import { rigOfAllTests, startRig, type ConversionRig } from '../support/conversion-worker';
import { FailingCodec } from '../support/failing-codec';
import { answerError, answerJson } from '../support/stub-service';
import { testTemporalAddress } from '../support/temporal';
import { startTemporalProxy, type Refusal, type TemporalProxy } from '../support/temporal-proxy';

/** Answers to a submit that can't be recorded in Temporal. The conversion was accepted, so it must not be repeated silently. */

const codec = new FailingCodec();
const dataConverter = { payloadCodecs: [codec] };
const rig = rigOfAllTests({ temporal: { address: testTemporalAddress(), namespace: 'default', dataConverter } });

async function convert(name: string, onUnknownOutcome: 'fail' | 'resubmit') {
  const before = rig.stub.count('convert/file');
  const outcome = await rig.client
    .convert(
      await rig.request({
        source: await rig.source(`${name}.md`),
        destination: `${rig.folder}/out/`,
        policies: { onUnknownOutcome, maxResubmissions: 2 },
      }),
    )
    .then(
      (result) => ({ result }),
      (error: unknown) => ({ failure: error as ConversionFailedError }),
    );
  return { submits: rig.stub.count('convert/file') - before, ...outcome };
}

it('an accepted submit with 12,000 warnings is recorded with the first 50 of them and the number of the rest', async () => {
  const names = Array.from({ length: 12_000 }, (_, number) => [`WARNING_${number}`, 'advice '.repeat(30)]);
  const warning = Object.fromEntries(names) as Record<string, string>;
  rig.stub.on('convert/file', (_seen, response) =>
    answerJson(response, 200, { entity: { id: randomUUID(), status: 'running' }, result: { warning } }),
  );
  rig.stub.on('task/response', ({ data }, response) => {
    const id = String(data['connector']);
    const result = { output: { connector: id, status: 'successful' }, error: {}, warning };
    answerJson(response, 200, {
      result: { output: { entity: { id, status: 'completed' }, result }, error: {}, warning: {} },
    });
  });

  const { submits, result } = (await convert('warnings', 'fail')) as { submits: number; result: { warnings: object } };

  expect(submits).toBe(1);
  const warnings = Object.entries(result.warnings);
  expect(warnings).toHaveLength(51);
  expect([warnings[0]?.[0], warnings.at(-1)]).toEqual(['WARNING_0', ['MORE_WARNINGS', 'and 11950 more']]);
});

it('an answer that a codec fails to encode once is reported by the next attempt', async () => {
  answerWithId(randomUUID(), { poisons: true });
  const outcome = await convert('codec', 'fail');
  expect(outcome).toMatchObject({ submits: 1, result: { status: 'succeeded', possiblyChargedTwice: false } });
});

describe('an id of 3 MB in the answer', () => {
  const arrange = () => answerWithId('x'.repeat(3_000_000));

  it('makes the outcome unknown: policy fail sends one convert request', async () => {
    arrange();
    const { submits, failure } = (await convert('long-fail', 'fail')) as {
      submits: number;
      failure: ConversionFailedError;
    };
    expect([submits, failure.code]).toEqual([1, 'OUTCOME_UNKNOWN']);
    expect(failure.details).toMatchObject({ charge: 'maybe' });
  });

  it('is submitted again under policy resubmit within maxResubmissions, and marked', async () => {
    arrange();
    const { submits, ...outcome } = await convert('long-resubmit', 'resubmit');
    expect(submits).toBeGreaterThan(1);
    expect(submits).toBeLessThanOrEqual(3);
    const marked = 'result' in outcome ? outcome.result : outcome.failure.details;
    expect(marked).toMatchObject({ possiblyChargedTwice: true });
  });
});

function answerWithId(id: string, { poisons = false } = {}): void {
  rig.stub.on('convert/file', (_seen, response) => {
    if (poisons) codec.poison = id;
    answerJson(response, 200, { entity: { id, status: 'running' }, result: {} });
  });
  rig.stub.asAlways('task/response');
}

describe('on a bad link to Temporal', () => {
  const refused: Record<string, Refusal> = {};
  let proxy: TemporalProxy;
  let through: ConversionRig;
  beforeAll(async () => {
    proxy = await startTemporalProxy(testTemporalAddress(), refused);
    through = await startRig({ temporal: { address: proxy.address, namespace: 'default' } });
  });
  afterAll(async () => {
    await through.close();
    await proxy.close();
  });

  async function expectOneSubmit(policies: ConversionPolicies) {
    const before = through.stub.conversions.size;
    const result = await through.client.convert(
      await through.request({
        destination: `${through.folder}/${before}/`,
        policies: { onUnknownOutcome: 'fail', ...policies },
      }),
    );
    expect(result).toMatchObject({ status: 'succeeded', possiblyChargedTwice: false });
    expect(through.stub.conversions.size).toBe(before + 1);
  }

  it('a fence whose acknowledgement is lost is withdrawn: nothing was sent, so nothing is unknown', async () => {
    through.stub.on('upload/file', (seen, response) => {
      const lostOnce = { status: 3, message: 'lost on the way back', isPassedOn: true, times: 1 };
      refused['RecordActivityTaskHeartbeat'] = lostOnce;
      through.stub.answerAsAlways(seen, response);
    });
    await expectOneSubmit({});
    expect(refused['RecordActivityTaskHeartbeat']?.times).toBe(0);
  });

  /** Cuts the link, by default for three seconds: the server gives an attempt up after two. */
  const cut = (
    methods: readonly string[],
    refusal: Refusal = { status: 14, message: 'the link is down' },
    forMs = 3_000,
  ) => {
    for (const method of methods) refused[method] = refusal;
    setTimeout(() => (refusal.times = 0), forMs);
  };

  it('a fence that remains from an abandoned attempt that sent nothing is ignored', async () => {
    let asked = 0;
    through.stub.on('upload/file', (seen, response) => {
      cut(['RespondActivityTaskFailed']);
      cut(['RecordActivityTaskHeartbeat'], {
        status: 3,
        message: 'lost on the way back, and then on the way there',
        get isPassedOn() {
          return (asked += 1) === 1;
        },
      });
      through.stub.answerAsAlways(seen, response);
    });
    await expectOneSubmit({ submitTimeout: '2 seconds' });
    expect(asked).toBeGreaterThan(1);
  });

  it('an accepted submit that is reported to Temporal too late is known to the next attempt', async () => {
    through.stub.on('convert/file', (seen, response) => {
      cut(['RespondActivityTaskCompleted']);
      through.stub.answerAsAlways(seen, response);
    });
    await expectOneSubmit({ submitTimeout: '2 seconds' });
  });

  it('a refusal that is reported to Temporal after two lost attempts still counts: the submit is repeated', async () => {
    through.stub.first('convert/file', (response) => {
      cut(['RecordActivityTaskHeartbeat', 'RespondActivityTaskFailed'], undefined, 5_500);
      answerError(response, 429, 'TOO_MANY_REQUESTS', { 'retry-after': '1' });
    });
    await expectOneSubmit({ submitTimeout: '2 seconds' });
  });
});
