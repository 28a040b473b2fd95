import path from 'node:path';
import { ConversionFailedError, type ConversionHandle } from '../../src/client/conversion-handle';
import { lookUpErrorCode } from '../../src/contract/error-codes';
import type { ConversionJobResult, ConversionPolicies } from '../../src/job/types';
import { rigOfAllTests } from '../support/conversion-worker';
import { answerCompleted, answerJson } from '../support/stub-service';
import { until } from '../support/until';

/**
 * The reaction of a job to a code of each class at each place, on a real workflow. `docs/errors.md` lists the class of each code;
 * `test/activities/failure.test.ts` covers the consequences at each step.
 */

/** The answer of an endpoint, or a polled task that completed with the code. */
type Place = keyof typeof complete | 'task';

const complete = { 'upload/file': 1, 'convert/file': 1, 'task/response': 1, 'download/url': 1, 'download/url/get': 1 };
const endpoints = Object.keys(complete) as (keyof typeof complete)[];
const defaultResubmissions = 3;

const rig = rigOfAllTests();
let jobs = 0;

interface Refused {
  /** Number of requests that are refused, starting with the first. Default: all. */
  times?: number;
  headers?: Record<string, string>;
  policies?: ConversionPolicies;
  meanwhile?: (job: ConversionHandle) => Promise<void>;
}

interface Outcome {
  result?: ConversionJobResult;
  failure?: ConversionFailedError;
  /** Number of requests to each endpoint. */
  requests: Record<string, number>;
}

async function runJob(code: string, at: Place, refused: Refused = {}): Promise<Outcome> {
  const { times = Infinity, headers, policies = {}, meanwhile } = refused;
  rig.stub.asAlways(...endpoints);
  rig.stub.requests.length = 0;
  const error = { code, message: `explained ${code}.` };
  const place = at === 'task' ? 'task/response' : at;
  rig.stub.on(place, (seen, response) => {
    if (rig.stub.count(place) > times) rig.stub.answerAsAlways(seen, response);
    else if (at === 'task') answerCompleted(response, seen.connector, { error });
    else {
      const status = lookUpErrorCode(code)?.httpStatus ?? 418;
      answerJson(response, status, { result: { output: {}, error, warning: {} } }, headers);
    }
  });
  // Knowledge about vCredits is shared by all jobs with the same output, so each job gets its own.
  const output = `pdf-${(jobs += 1)}`;
  const destination = path.join(rig.folder, 'out', `report.${output}`);
  const job = await rig.client.start(await rig.request({ output, destination, policies }));
  await meanwhile?.(job);
  const ended = await job.result().then(
    (result) => ({ result }),
    (failure: unknown) => {
      if (failure instanceof ConversionFailedError) return { failure };
      throw failure;
    },
  );
  expect(('result' in ended ? ended.result : ended.failure.details)?.requests).toBe(rig.stub.requests.length);
  const counts = endpoints.map((endpoint) => [endpoint, rig.stub.count(endpoint)] as const);
  return { ...ended, requests: Object.fromEntries(counts.filter(([, count]) => count > 0)) };
}

/** The requests of a job that ends at this place, one to each endpoint on the way. */
function upTo(at: Place): Partial<typeof complete> {
  const last = at === 'task' ? 'task/response' : at;
  return Object.fromEntries(endpoints.slice(0, endpoints.indexOf(last) + 1).map((endpoint) => [endpoint, 1]));
}

function expectFailure({ failure }: Outcome, code: string, at: Place): void {
  expect(failure?.code).toBe(code);
  expect(failure?.message).toContain('.md → pdf');
  expect(failure?.message).toContain(code === 'OUTCOME_UNKNOWN' ? 'not known whether' : `explained ${code}.`);
  // The message must name the endpoint, unless the conversion itself failed.
  if (at !== 'task') expect(failure?.message).toContain(`v1/${at}`);
}

/** The reaction to a code at a place, with a check of it. */
type Reaction = readonly [title: string, check: (code: string, at: Place) => Promise<void>];

const failsAtOnce: Reaction = [
  'fails at once, with the code as its type',
  async (code, at) => {
    const outcome = await runJob(code, at);
    expectFailure(outcome, code, at);
    expect(outcome.requests).toEqual(upTo(at));
  },
];

const parks: Reaction = [
  'parks, and continues at the signal',
  async (code, at) => {
    const { result, requests } = await runJob(code, at, {
      times: 1,
      // Its own probe must come late: the signal would cut it off, and the request would go uncounted.
      policies: { retryMaximumInterval: 60_000 },
      async meanwhile(job) {
        await until('it is parked', async () => (await job.state()).phase === 'parked');
        await job.appReady();
      },
    });
    expect(result).toMatchObject({ status: 'succeeded', possiblyChargedTwice: false });
    const repeated = at === 'task' ? { 'convert/file': 2, 'task/response': 2 } : { [at]: 2 };
    expect(requests).toEqual({ ...complete, ...repeated });
  },
];

const waitsRetryAfter: Reaction = [
  'waits the full RETRY-AFTER and sends the same request again',
  async (code, at) => {
    // The document gives both the same value; if they differ, RETRY-AFTER counts.
    const headers = { 'retry-after': '2', 'x-ratelimit-reset': '1' };
    const { result, requests } = await runJob(code, at, { times: 2, headers });
    expect(result).toMatchObject({ status: 'succeeded', possiblyChargedTwice: false });
    expect(requests).toMatchObject({ 'upload/file': at === 'upload/file' ? 3 : 1, [at]: 3 });
    const [first = 0, second = 0] = rig.stub.requests.filter((seen) => seen.path === at).map((seen) => seen.at);
    expect(second - first).toBeGreaterThanOrEqual(2_000);
  },
];

const submitsAgain: Reaction = [
  `submits again, at most ${defaultResubmissions} times, without another upload`,
  async (code, at) => {
    const outcome = await runJob(code, at);
    expectFailure(outcome, code, at);
    const submits = 1 + defaultResubmissions;
    expect(outcome.requests).toEqual({ 'upload/file': 1, 'convert/file': submits, 'task/response': submits });
    // A failed task is not charged.
    expect(outcome.failure?.details).toMatchObject({ possiblyChargedTwice: false });
  },
];

const uploadsAgainOnce: Reaction = [
  'uploads again and succeeds; at the second loss it fails',
  async (code, at) => {
    const once = await runJob(code, at, { times: 1 });
    expect(once.result?.status).toBe('succeeded');
    expect(once.requests).toMatchObject({ 'upload/file': 2, 'convert/file': 2, 'download/url': 1 });
    const always = await runJob(code, at);
    expectFailure(always, code, at);
    expect(always.requests).toMatchObject({ 'upload/file': 2, 'convert/file': 2 });
  },
];

const isMissing: Reaction = [
  'is asked again; said several times, it ends the job, which keeps its task',
  async (code, at) => {
    const twice = await runJob(code, at, { times: 2 });
    expect(twice.result).toMatchObject({ status: 'succeeded', possiblyChargedTwice: false });
    expect(twice.requests).toMatchObject({ 'convert/file': 1, [at]: 3 });
    const ever = await runJob(code, at);
    expectFailure(ever, code, at);
    expect(ever.failure?.details).toMatchObject({ charge: 'yes', taskId: expect.any(String) as string });
    expect(ever.failure?.message).toContain('fileconv job retry');
    expect(ever.requests).toMatchObject({ 'convert/file': 1 });
    expect(ever.requests[at]).toBeGreaterThanOrEqual(4);
  },
];

const repeatsTheStep: Reaction = [
  'sends the same request again until it is answered, and gives up nothing that is paid for',
  async (code, at) => {
    const { result, requests } = await runJob(code, at, { times: 3 });
    expect(result).toMatchObject({ status: 'succeeded', charge: 'yes', possiblyChargedTwice: false });
    expect(requests[at]).toBe(4);
    expect(requests).toMatchObject({ 'convert/file': 1 });
  },
];

const outcomeIsUnknown: Reaction = [
  'is an unknown outcome: submits again and says so, or by policy fails and submits nothing again',
  async (code, at) => {
    const { result, requests } = await runJob(code, at, { times: 1 });
    expect(result).toMatchObject({ status: 'succeeded', possiblyChargedTwice: true });
    expect(requests).toEqual({ ...complete, 'convert/file': 2 });
    const failed = await runJob(code, at, { policies: { onUnknownOutcome: 'fail' } });
    expectFailure(failed, 'OUTCOME_UNKNOWN', at);
    expect(failed.requests).toEqual(upTo('convert/file'));
  },
];

const after = { 'task/response': repeatsTheStep, 'download/url': repeatsTheStep };
const wrongRequest = {
  ...{ 'upload/file': failsAtOnce, 'convert/file': failsAtOnce, ...after, 'download/url/get': repeatsTheStep },
};
/** The service itself says that it no longer has the task or its result. */
const lostLink = {
  ...{
    'convert/file': uploadsAgainOnce,
    'task/response': isMissing,
    task: uploadsAgainOnce,
    'download/url': isMissing,
  },
};
const waits = Object.fromEntries(endpoints.map((endpoint) => [endpoint, waitsRetryAfter]));

/** The places at which a code can occur, with the expected reaction. Deliberately not derived from the classes of the table. */
const cases: Record<string, Partial<Record<Place, Reaction>>> = {
  INVALID_PARAMETER: wrongRequest,
  A_CODE_OF_TOMORROW: { ...wrongRequest, task: failsAtOnce },
  EMPTY_FILE: { 'upload/file': failsAtOnce },
  FAILED_CONVERT: { 'convert/file': failsAtOnce, task: failsAtOnce },
  INVALID_CREDENTIAL: { 'upload/file': failsAtOnce, 'convert/file': failsAtOnce, ...after },
  INSUFFICIENT_VCREDITS: {
    ...{ 'upload/file': parks, 'convert/file': parks, 'task/response': repeatsTheStep },
    ...{ task: parks, 'download/url': parks },
  },
  FILE_NOT_EXISTS: lostLink,
  // The task will become ready, or a new link will work.
  NOT_READY_DEPENDENT_TASK: { ...lostLink, ...after, 'download/url/get': repeatsTheStep },
  DOWNLOAD_EXPIRED: { 'download/url/get': isMissing, 'download/url': isMissing, task: uploadsAgainOnce },
  TOO_MANY_REQUESTS: { ...waits, task: submitsAgain },
  // Its wait may be given in the message only.
  FREE_APP_LIMITED: { 'convert/file': waitsRetryAfter, 'upload/file': repeatsTheStep, task: submitsAgain },
  INTERNAL_SERVER_ERROR: {
    ...{ 'upload/file': repeatsTheStep, 'convert/file': outcomeIsUnknown, ...after },
    ...{ 'download/url/get': repeatsTheStep, task: submitsAgain },
  },
};

const tests = Object.entries(cases).flatMap(([code, at]) =>
  (Object.entries(at) as [Place, Reaction][]).map(([place, [title, check]]) => ({ code, place, title, check })),
);

it.each(tests)('$code at $place: $title', ({ code, place, check }) => check(code, place));
