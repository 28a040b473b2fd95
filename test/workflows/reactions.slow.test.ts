import path from 'node:path';
import { errorCodes, type KnownErrorCode } from '../../src/contract/error-codes';
import { ConversionFailedError, type ConversionHandle } from '../../src/client/conversion-handle';
import type { ConversionJobResult, ConversionPolicies } from '../../src/job/types';
import { quickPolicies, startRig, type ConversionRig } from '../support/conversion-worker';
import { RefusingService, type Place, type Refusal } from '../support/refusing-service';
import { until } from '../support/until';

/**
 * What a job does about each code of the table, on a real workflow: a job for each code and each place where it can stand. Many jobs run
 * at once, each test waits for its own.
 */

/** Runs a job that is refused as its case says, and checks what became of it. */
type Reaction = (refusal: Pick<Refusal, 'code' | 'at'>) => { title: string; run: () => Promise<void> };

/** All at once would keep this thread so busy that Temporal takes steps for lost. */
const lanes = 30;

const always = Number.POSITIVE_INFINITY;
const defaultResubmissions = 3;
const retryAfterSeconds = 3;

let rig: ConversionRig;
let service: RefusingService;

interface Outcome {
  /** Requests of this job to each endpoint, in the order of the first one. */
  requests: Record<string, number>;
  result?: ConversionJobResult;
  failure?: ConversionFailedError;
  /** Milliseconds from the first refusal to the request that followed it at the same endpoint. */
  pauseMs: number;
}

interface JobOptions {
  /** Default: pdf. */
  output?: string;
  policies?: ConversionPolicies;
  meanwhile?: (handle: ConversionHandle) => Promise<void>;
}

async function runJob(refusal: Refusal, { output = 'pdf', policies, meanwhile }: JobOptions = {}): Promise<Outcome> {
  const job = service.expect(refusal);
  const handle = await rig.client.start({
    source: await rig.source(`${job.name}.md`),
    output,
    destination: path.join(rig.folder, 'out', `${job.name}.${output}`),
    policies: { ...quickPolicies, ...policies },
  });
  await meanwhile?.(handle);
  const ending: Pick<Outcome, 'result' | 'failure'> = await handle.result().then(
    (result) => ({ result }),
    (error: unknown) => {
      if (error instanceof ConversionFailedError) return { failure: error };
      throw error;
    },
  );
  const { result, failure } = ending;
  const told = (result ?? failure?.details)?.requests;
  if (await hasLostStep(handle.workflowId)) expect(told).toBeLessThanOrEqual(job.seen.length);
  else expect(told).toBe(job.seen.length);
  return { ...ending, requests: service.requestsOf(job), pauseMs: service.pauseOf(job) };
}

/** On a machine so busy that Temporal takes a step for lost, nobody tells its requests. */
async function hasLostStep(workflowId: string): Promise<boolean> {
  const events = await rig.events(workflowId);
  return events.some(({ activityTaskStartedEventAttributes: started }) => started?.lastFailure?.timeoutFailureInfo);
}

const complete = { 'upload/file': 1, 'convert/file': 1, 'task/response': 1, 'download/url': 1, 'download/url/get': 1 };

/** The requests of a job that ends at this place, having sent one request to each endpoint on the way. */
function upTo(at: Place): Partial<typeof complete> {
  const order = Object.keys(complete) as (keyof typeof complete)[];
  const last = at === 'task' ? 'task/response' : at;
  return Object.fromEntries(order.slice(0, order.indexOf(last) + 1).map((endpoint) => [endpoint, 1]));
}

function expectFailure({ failure }: Outcome, { code, at }: Pick<Refusal, 'code' | 'at'>): void {
  expect(failure?.code).toBe(code);
  expect(failure?.message).toContain('.md → pdf');
  expect(failure?.message).toContain(service.messageOf(code));
  // A person who reads it knows at which endpoint, or that it was the conversion itself.
  if (at !== 'task') expect(failure?.message).toContain(`v1/${at}`);
}

const failsAtOnce: Reaction = (refusal) => ({
  title: 'fails at once, with the code as its type',
  async run() {
    const outcome = await runJob({ ...refusal, times: always });
    expectFailure(outcome, refusal);
    expect(outcome.requests).toEqual(upTo(refusal.at));
  },
});

const parks: Reaction = (refusal) => ({
  title: 'parks in parked, and continues at the signal',
  async run() {
    const outcome = await runJob(
      { ...refusal, times: 1 },
      {
        // What one job learns of vCredits counts for all of its kind, so it has a kind to itself.
        output: `pdf-${refusal.at.replaceAll('/', '-')}`,
        // It asks by itself so late: the signal would cut such a request, and nobody tells it.
        policies: { retryMaximumInterval: 60_000 },
        async meanwhile(handle) {
          await until('it is parked', async () => (await handle.state()).phase === 'parked');
          expect(Object.values(service.requestsOf(service.jobOf(refusal))).at(-1)).toBe(1);
          await handle.appReady();
        },
      },
    );
    expect(outcome.failure).toBeUndefined();
    expect(outcome.result).toMatchObject({ status: 'succeeded', possiblyChargedTwice: false });
    const repeated = refusal.at === 'task' ? { 'convert/file': 2, 'task/response': 2 } : { [refusal.at]: 2 };
    expect(outcome.requests).toEqual({ ...complete, ...repeated });
  },
});

const waitsRetryAfter: Reaction = (refusal) => ({
  title: 'waits the full RETRY-AFTER and sends the same request again',
  async run() {
    // In the document both have one value; where they differ, RETRY-AFTER counts.
    const headers = { 'retry-after': String(retryAfterSeconds), 'x-ratelimit-reset': '1' };
    const outcome = await runJob({ ...refusal, times: 2, headers });
    expect(outcome.failure).toBeUndefined();
    expect(outcome.result).toMatchObject({ status: 'succeeded', possiblyChargedTwice: false });
    expect(outcome.requests).toMatchObject({ 'upload/file': refusal.at === 'upload/file' ? 3 : 1 });
    expect(outcome.requests[refusal.at === 'task' ? 'task/response' : refusal.at]).toBe(3);
    expect(outcome.pauseMs).toBeGreaterThanOrEqual(retryAfterSeconds * 1_000);
  },
});

const submitsAgain: Reaction = (refusal) => ({
  title: `submits again, at most ${defaultResubmissions} times, without another upload`,
  async run() {
    const outcome = await runJob({ ...refusal, times: always });
    expectFailure(outcome, refusal);
    const submits = 1 + defaultResubmissions;
    expect(outcome.requests).toEqual({ 'upload/file': 1, 'convert/file': submits, 'task/response': submits });
    // A failed task is not charged.
    expect(outcome.failure?.details).toMatchObject({ possiblyChargedTwice: false });
  },
});

const uploadsAgainOnce: Reaction = (refusal) => ({
  title: 'uploads again and succeeds; at the second loss it fails',
  async run() {
    const [once, twice] = await Promise.all([
      runJob({ ...refusal, times: 1, variant: 'once' }),
      runJob({ ...refusal, times: always, variant: 'always' }),
    ]);
    expect(once.result?.status).toBe('succeeded');
    expect(once.requests).toMatchObject({ 'upload/file': 2, 'convert/file': 2, 'download/url': 1 });
    expectFailure(twice, refusal);
    expect(twice.requests).toMatchObject({ 'upload/file': 2, 'convert/file': 2 });
  },
});

const isMissing: Reaction = (refusal) => ({
  title: 'is asked again; said several times, it ends the job, which keeps its task',
  async run() {
    const [twice, ever] = await Promise.all([
      runJob({ ...refusal, times: 2, variant: 'twice' }),
      runJob({ ...refusal, times: always, variant: 'ever' }),
    ]);
    expect(twice.result).toMatchObject({ status: 'succeeded', possiblyChargedTwice: false });
    expect(twice.requests).toMatchObject({ 'convert/file': 1, [refusal.at]: 3 });
    expectFailure(ever, refusal);
    expect(ever.failure?.details).toMatchObject({ charge: 'yes', taskId: expect.any(String) as string });
    expect(ever.failure?.message).toContain('fileconv job retry');
    expect(ever.requests).toMatchObject({ 'convert/file': 1 });
    expect(ever.requests[refusal.at]).toBeGreaterThanOrEqual(4);
  },
});

const repeatsTheStep: Reaction = (refusal) => ({
  title: 'sends the same request again until it succeeds',
  async run() {
    const outcome = await runJob({ ...refusal, times: 3 });
    expect(outcome.failure).toBeUndefined();
    expect(outcome.result).toMatchObject({ status: 'succeeded', possiblyChargedTwice: false });
    expect(outcome.requests[refusal.at]).toBe(4);
    expect(outcome.requests).toMatchObject({ 'convert/file': 1 });
  },
});

const isAskedAgain: Reaction = (refusal) => ({
  title: 'ends no job that is paid for: the question is asked again until it is answered',
  async run() {
    const outcome = await runJob({ ...refusal, times: 3 });
    expect(outcome.failure).toBeUndefined();
    expect(outcome.result).toMatchObject({ status: 'succeeded', charge: 'yes', possiblyChargedTwice: false });
    expect(outcome.requests[refusal.at]).toBe(4);
    expect(outcome.requests).toMatchObject({ 'upload/file': 1, 'convert/file': 1 });
  },
});

const outcomeIsUnknown: Reaction = (refusal) => ({
  title: 'is an unknown outcome: submits again and says so, or by policy fails and submits nothing again',
  async run() {
    const [resubmitted, failed] = await Promise.all([
      runJob({ ...refusal, times: 1, variant: 'resubmit' }),
      runJob({ ...refusal, times: always, variant: 'fail' }, { policies: { onUnknownOutcome: 'fail' } }),
    ]);
    expect(resubmitted.result).toMatchObject({ status: 'succeeded', possiblyChargedTwice: true });
    expect(resubmitted.requests).toEqual({ ...complete, 'convert/file': 2 });
    expectFailure(failed, { ...refusal, code: 'OUTCOME_UNKNOWN' });
    expect(failed.requests).toEqual(upTo('convert/file'));
  },
});

/** Where a code can stand, and what the job does about it there. */
type Cases = Partial<Record<Place, Reaction>>;

const wrongRequest: Cases = {
  'upload/file': failsAtOnce,
  'convert/file': failsAtOnce,
  'task/response': isAskedAgain,
  'download/url': isAskedAgain,
  'download/url/get': isAskedAgain,
};
const wrongUpload: Cases = { 'upload/file': failsAtOnce };
const wrongConversion: Cases = { 'convert/file': failsAtOnce, task: failsAtOnce };
const refusedAccount: Cases = {
  'upload/file': failsAtOnce,
  'convert/file': failsAtOnce,
  'task/response': isAskedAgain,
  'download/url': isAskedAgain,
};
/** The service's own word that it no longer has the task, or its result. */
const lostLink: Cases = {
  'convert/file': uploadsAgainOnce,
  'task/response': isMissing,
  task: uploadsAgainOnce,
  'download/url': isMissing,
};
/** The task will be ready, or a new link will be known. */
const isNotYet: Cases = {
  ...lostLink,
  'task/response': isAskedAgain,
  'download/url': isAskedAgain,
  'download/url/get': isAskedAgain,
};
const tooMany: Cases = {
  'upload/file': waitsRetryAfter,
  'convert/file': waitsRetryAfter,
  'task/response': waitsRetryAfter,
  'download/url': waitsRetryAfter,
  'download/url/get': waitsRetryAfter,
  task: submitsAgain,
};

/** Not derived from the table's classes: a code that moves to another class has to move here too. */
const cases: Record<KnownErrorCode, Cases> = {
  INVALID_DATA_KEY: wrongRequest,
  INVALID_FIELD: wrongRequest,
  INVALID_PARAMETER: wrongRequest,
  MISMATCH_DEPENDENT_TASK: lostLink,
  MISMATCH_VERSION_DEPENDENT_TASK: { 'convert/file': failsAtOnce, 'download/url': isAskedAgain },
  MISSING_REQUIRED_DATA_KEY: wrongRequest,
  MISSING_REQUIRED_FIELD: wrongRequest,
  MISSING_REQUIRED_PARAMETER: wrongRequest,
  WRONG_TYPE_DATA_KEY: wrongRequest,
  WRONG_TYPE_FIELD: wrongRequest,
  WRONG_TYPE_PARAMETER: wrongRequest,
  WRONG_VALUE_DATA_KEY: wrongRequest,
  WRONG_VALUE_PARAMETER: wrongRequest,
  FREE_PLAN_DISALLOWED: refusedAccount,
  INSUFFICIENT_VCREDITS: {
    'upload/file': parks,
    'convert/file': parks,
    'task/response': isAskedAgain,
    task: parks,
    'download/url': parks,
  },
  ONLY_DEVELOPMENT_REQUEST: refusedAccount,
  DOWNLOAD_EXPIRED: { 'download/url/get': isMissing, 'download/url': isMissing, task: uploadsAgainOnce },
  FILE_NOT_EXISTS: lostLink,
  NOT_FOUND: wrongRequest,
  NOT_READY_DEPENDENT_TASK: isNotYet,
  NO_CONNECTOR_DEPENDENT_TASK: lostLink,
  POST_METHOD_ALLOWED: wrongRequest,
  TOO_MANY_REQUESTS: tooMany,
  INTERNAL_SERVER_ERROR: {
    'upload/file': repeatsTheStep,
    'convert/file': outcomeIsUnknown,
    'task/response': repeatsTheStep,
    'download/url': repeatsTheStep,
    'download/url/get': repeatsTheStep,
    task: submitsAgain,
  },
  MISSING_AUTHORIZATION_HEADER: refusedAccount,
  INVALID_AUTHORIZATION_HEADER: refusedAccount,
  INVALID_CREDENTIAL: refusedAccount,
  DISABLED_FOR_FREE_APP: refusedAccount,
  // Its wait may stand in the message alone.
  FREE_APP_LIMITED: { 'convert/file': waitsRetryAfter, 'upload/file': repeatsTheStep, task: submitsAgain },
  EMPTY_FILE: wrongUpload,
  LIMIT_UPLOAD_SIZE: wrongUpload,
  NOT_VALID_EXTENSION: wrongUpload,
  ONLY_DEVELOPMENT_FILE: wrongUpload,
  FAILED_CONVERT: wrongConversion,
  // No job asks about formats; a service may answer so all the same.
  INVALID_FORMAT: wrongConversion,
  WRONG_FORMAT_STRUCTURE: wrongConversion,
  INVALID_INPUT_FORMAT: wrongConversion,
  INVALID_OUTPUT_FORMAT: wrongConversion,
  NOT_MATCH_EXTENSION_AND_INPUT: wrongConversion,
  NO_CONVERTER_INPUT_TO_OUTPUT: wrongConversion,
  WRONG_INPUT_FORMAT_STRUCTURE: wrongConversion,
  WRONG_OUTPUT_FORMAT_STRUCTURE: wrongConversion,
  INVALID_CALLBACK: { 'convert/file': failsAtOnce },
  UNVERIFIED_DOMAIN_CALLBACK: { 'convert/file': failsAtOnce },
};

const tests = [
  ...Object.keys(errorCodes).map((code) => ({ code, at: cases[code as KnownErrorCode] })),
  { code: 'A_CODE_OF_TOMORROW', at: { ...wrongRequest, task: failsAtOnce } satisfies Cases },
].flatMap(({ code, at }) =>
  (Object.entries(at) as [Place, Reaction][]).map(([place, reaction]) => ({
    code,
    place,
    ...reaction({ code, at: place }),
  })),
);

/** What became of each test's job; a failure is thrown in its own test. */
const running = new Map<(typeof tests)[number], Promise<unknown>>();

beforeAll(async () => {
  rig = await startRig();
  service = new RefusingService(rig.stub);
  const ends: Promise<unknown>[] = Array.from({ length: lanes }, () => Promise.resolve());
  for (const [index, test] of tests.entries()) {
    const lane = index % lanes;
    const end = Promise.resolve(ends[lane])
      .then(() => test.run())
      .catch((error: unknown) => ({ error }));
    ends[lane] = end;
    running.set(test, end);
  }
});

afterAll(async () => {
  await Promise.all(running.values());
  await rig.close();
});

describe('a job', () => {
  it('has a case for every code of the table', () => {
    expect(Object.keys(cases).sort()).toEqual(Object.keys(errorCodes).sort());
    expect(Object.values(cases).filter((at) => Object.keys(at).length === 0)).toEqual([]);
  });

  it.each(tests)('$code at $place: $title', async (test) => {
    const ended = await running.get(test);
    if (ended !== undefined) throw (ended as { error: unknown }).error;
  });
});
