// Every kind of path that one job can take.
import { createRequire } from 'node:module';
import { quickPolicies, until } from './recording-stack.mjs';

const require = createRequire(import.meta.url);
const { ConversionFailedError } = require('../../dist/index.js');

const cutSubmit = { kind: 'cut', at: 'before_answer', endpoint: 'convert/file', first: 1 };
const refusedPoll = { kind: 'rate_limit', retry_after: '2', class: 'poll', first: 1 };
const long = '1 hour';

/** `app`: settings of the path's app at the service; `faults`: what the service does to it; `record`: histories by name. */
export const jobPaths = [
  path('job-polled', { ends: 'succeeded' }),
  path('job-called-back', { callsBack: true, policies: { pollAfter: long }, ends: 'succeeded' }),
  path('job-called-back-late', {
    callsBack: true,
    faults: [refusedPoll, { kind: 'callback_late', ms: 1_000 }],
    policies: { pollAfter: 200 },
    ends: 'succeeded',
  }),
  path('job-callback-lost', {
    callsBack: true,
    faults: [{ kind: 'callback_lost' }],
    policies: { pollAfter: 200 },
    ends: 'succeeded',
  }),
  path('job-sync', { request: () => ({ mode: 'sync' }), ends: 'succeeded' }),
  path('job-left-at-service', { request: () => ({ destination: undefined }), ends: 'succeeded' }),
  path('job-skipped', {
    request: (stack, name) => ({ destination: stack.write(name, 'report.html', 'there'), onExisting: 'skip' }),
    ends: 'skipped',
  }),
  path('job-parked-restored', {
    app: { vcredits: 0 },
    meanwhile: async (stack, name, job) => {
      await parked(job);
      await signalReady(stack, name, job);
    },
    ends: 'succeeded',
  }),
  path('job-parked-overdue', {
    app: { vcredits: 0 },
    policies: { parkedDeadline: '2 seconds', submitTimeout: '2 seconds' },
    ends: 'INSUFFICIENT_VCREDITS',
  }),
  path('job-uploaded-again', {
    // The upload has expired by the time its conversion is asked for.
    app: { uploadLifetimeSeconds: 2 },
    faults: [{ kind: 'latency', ms: 3_000, endpoint: 'convert/file', first: 1 }],
    ends: 'succeeded',
  }),
  path('job-unknown-resubmitted', { faults: [cutSubmit], ends: 'succeeded' }),
  path('job-unknown-failed', {
    faults: [cutSubmit],
    policies: { onUnknownOutcome: 'fail' },
    ends: 'OUTCOME_UNKNOWN',
  }),
  path('job-unknown-called-back', {
    callsBack: true,
    faults: [cutSubmit],
    policies: { unknownOutcomeWait: long },
    ends: 'succeeded',
  }),
  path('job-unknown-not-called-back', {
    callsBack: true,
    faults: [cutSubmit, { kind: 'callback_lost', first: 1 }],
    policies: { unknownOutcomeWait: 500 },
    ends: 'succeeded',
  }),
  path('job-cancelled-converting', {
    policies: { firstCheckAfter: long },
    meanwhile: async (_stack, _name, job) => {
      await inPhase(job, 'converting');
      await job.cancel();
    },
    ends: 'CANCELLED',
  }),
  path('job-cancelled-parked', {
    app: { vcredits: 0 },
    meanwhile: async (_stack, _name, job) => {
      await parked(job);
      await job.cancel();
    },
    ends: 'CANCELLED',
  }),
  path('job-cancelled-downloading', {
    faults: [{ kind: 'slow_download', bytes_per_second: 20 }],
    meanwhile: async (_stack, _name, job) => {
      await inPhase(job, 'downloading');
      await job.cancel();
    },
    ends: 'CANCELLED',
  }),
  path('job-failed', { request: () => ({ output: 'nosuchformat' }), ends: 'INVALID_OUTPUT_FORMAT' }),
  path('job-source-missing', {
    request: (stack, name) => ({ source: stack.place(name, 'missing.md') }),
    ends: 'SOURCE_NOT_FOUND',
  }),
];

/** A path of one job; `ends`: the status of its result, or the code of its failure. */
function path(name, { app, faults, callsBack, policies, request = () => ({}), meanwhile, ends }) {
  return { name, app, faults, callsBack, record };

  async function record(stack) {
    const own = request(stack, name);
    const job = await stack.client.start(
      {
        app: name,
        source: stack.write(name, 'report.md'),
        output: 'html',
        destination: stack.place(name, 'report.html'),
        policies: { ...quickPolicies, ...policies },
        ...own,
      },
      { workflowId: name },
    );
    await meanwhile?.(stack, name, job);
    const ended = await endOf(job);
    if (ended.as !== ends) throw new Error(`It ended as ${ended.as}, not as ${ends}. ${ended.why ?? ''}`);
    return { [name]: await stack.historyOf(name) };
  }
}

async function endOf(job) {
  try {
    return { as: (await job.result()).status };
  } catch (error) {
    if (error instanceof ConversionFailedError) return { as: error.code, why: error.message };
    throw error;
  }
}

async function inPhase(job, phase) {
  await until(`${job.workflowId} is ${phase}`, async () => (await job.state()).phase === phase);
}

/** The submit that asks again by itself has asked: its pause is long, so that only the signal ends it. */
async function parked(job) {
  await inPhase(job, 'parked');
  await until(`${job.workflowId} waits between two submits`, async () => {
    const { raw } = await job.describe();
    return (raw.pendingActivities ?? []).some(({ attempt, lastFailure }) => attempt > 1 || lastFailure);
  });
}

async function signalReady(stack, name, job) {
  stack.administration.addCredits(stack.appIds.get(name), 100);
  await job.appReady();
}
