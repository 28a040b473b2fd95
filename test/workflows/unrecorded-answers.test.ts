import { randomUUID } from 'node:crypto';
import type { ConversionFailedError } from '../../src/client/conversion-handle';
import { rigOfAllTests, startRig } from '../support/conversion-worker';
import { FailingCodec } from '../support/failing-codec';
import { answerJson } from '../support/stub-service';
import { testTemporalAddress } from '../support/temporal';
import { startTemporalProxy, type Refusal } from '../support/temporal-proxy';

/** Answers of a submit that Temporal can't be told: the conversion was accepted, so nothing may be sent again in silence. */

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

it('an accepted submit with 12,000 warnings is recorded with the first 50 of them, and counts the rest', async () => {
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

describe.each([
  ['an id of 3 MB in the answer', () => answerWithId('x'.repeat(3_000_000))],
  ['a codec that fails once after the answer', () => answerWithId(randomUUID(), { poisons: true })],
])('%s', (title, arrange) => {
  const name = title.replaceAll(/\W+/g, '-');

  it('leaves the outcome unknown: policy fail sends one convert request', async () => {
    arrange();
    const { submits, failure } = (await convert(`${name}-fail`, 'fail')) as {
      submits: number;
      failure: ConversionFailedError;
    };
    expect([submits, failure.code]).toEqual([1, 'OUTCOME_UNKNOWN']);
    expect(failure.details).toMatchObject({ charge: 'maybe' });
  });

  it('is submitted again under policy resubmit as often as it says, and marked', async () => {
    arrange();
    const { submits, ...outcome } = await convert(`${name}-resubmit`, 'resubmit');
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

it('a fence whose acknowledgement is lost is taken back: nothing was sent, so nothing is unknown', async () => {
  const refused: Record<string, Refusal> = {};
  const proxy = await startTemporalProxy(testTemporalAddress(), refused);
  const through = await startRig({ temporal: { address: proxy.address, namespace: 'default' } });
  through.stub.on('upload/file', (seen, response) => {
    const lostOnce = { status: 3, message: 'lost on the way back', isPassedOn: true, times: 1 };
    refused['RecordActivityTaskHeartbeat'] = lostOnce;
    through.stub.answerAsAlways(seen, response);
  });
  try {
    const result = await through.client.convert(await through.request({ policies: { onUnknownOutcome: 'fail' } }));
    expect(refused['RecordActivityTaskHeartbeat']?.times).toBe(0);
    expect(result).toMatchObject({ status: 'succeeded', possiblyChargedTwice: false });
    expect(through.stub.count('convert/file')).toBe(1);
  } finally {
    await through.close();
    await proxy.close();
  }
});
