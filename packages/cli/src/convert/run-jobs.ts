import { ServiceError } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { ConversionFailedError } from 'temporal-file-conversion/internal/client/conversion-handle';
import type { ConversionHandle } from 'temporal-file-conversion/internal/client/conversion-handle';
import type {
  ConversionJobResult,
  ConversionMode,
  ConversionParameters,
  ConversionPolicies,
  OnExisting,
  OutputResult,
} from 'temporal-file-conversion/internal/shared/job';
import { defined } from 'temporal-file-conversion/internal/shared/defined';
import { toUri } from 'temporal-file-conversion/internal/client/job-request';
import { shownPath } from 'temporal-file-conversion/internal/storage/file-uri';
import { aborted } from '../stack/parent-process';
import { shownPath as shortPath, type PlannedJob } from './plan';
import { currentStep, type FileOutcome, type JobProgress } from './report';
import { EarlierJobError, type FileRequest, type StartedJob } from './start-or-join';

export interface RunOptions {
  start: (request: FileRequest) => Promise<StartedJob>;
  /** Runs what asks Temporal, until the connection is closed. */
  untilClosed: <T>(run: () => Promise<T>) => Promise<T>;
  from?: string;
  param?: ConversionParameters;
  onExisting: OnExisting;
  mode?: ConversionMode;
  policies: ConversionPolicies;
  parallel: number;
  cwd: string;
  progress: JobProgress;
  /** Files by the workflow ids of their jobs, as long as those are under way. */
  inFlight: Map<string, string>;
  onJoined: (job: { file: string; workflowId: string }) => void;
  /** Called as each file ends, in the order in which they do. */
  onOutcome: (outcome: FileOutcome, done: number) => void;
  /** Ends the command's wait, not the jobs. */
  signal: AbortSignal;
}

/** Starts a job for each file, `parallel` at a time, and waits for them. Outcomes are in the order of the files. */
export async function runJobs(jobs: readonly PlannedJob[], options: RunOptions): Promise<FileOutcome[]> {
  const { parallel, signal, onOutcome } = options;
  const interrupted = aborted(signal);
  const outcomes = jobs.map((job) => outcomesOf(job, { status: 'notStarted', seconds: 0 }));
  const waiting = [...jobs.entries()];
  let done = 0;
  async function lane(): Promise<void> {
    for (let next = waiting.shift(); next && !signal.aborted; next = waiting.shift()) {
      const [index, job] = next;
      const ended = await options.untilClosed(() => runJob(job, options, interrupted));
      outcomes[index] = ended;
      for (const outcome of ended) {
        if (outcome.status === 'unfinished') continue;
        done += 1;
        onOutcome(outcome, done);
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(parallel, jobs.length) }, lane));
  return outcomes.flat();
}

function outcomesOf({ input, results }: PlannedJob, outcome: Omit<FileOutcome, 'file' | 'to'>): FileOutcome[] {
  return results.map(({ to }) => ({ file: input.file, to, ...outcome }));
}

async function runJob(job: PlannedJob, options: RunOptions, interrupted: Promise<void>): Promise<FileOutcome[]> {
  const { start, progress, untilClosed, inFlight, cwd } = options;
  const { input, results } = job;
  const startedAt = Date.now();
  const shown = progress.begin({ file: input.file, to: results.map(({ to }) => to).join(', ') });
  let handle: ConversionHandle | undefined;
  let isJoined: true | undefined;
  const base = () =>
    defined({
      workflowId: handle?.workflowId,
      joined: isJoined,
      seconds: (Date.now() - startedAt) / 1_000,
    });
  try {
    const { handle: started, joined } = await start(requestOf(job, options));
    handle = started;
    if (joined) isJoined = true;
    if (joined) options.onJoined({ file: input.file, workflowId: started.workflowId });
    inFlight.set(started.workflowId, input.file);
    shown.started(() => untilClosed(() => currentStep(started)));
    const result = await Promise.race([started.result(), interrupted]);
    if (!result) return outcomesOf(job, { ...base(), status: 'unfinished' });
    const { outputs } = result;
    if (!outputs) return outcomesOf(job, { ...base(), ...describeResult(result) });
    return describeOutputs(job, outputs, { base: base(), cwd });
  } catch (error) {
    const failure = readError(error, handle);
    const outputs = results.length > 1 ? await outputsOf(error, handle) : [];
    return describeOutputs(job, outputs, { base: base(), failure, cwd });
  } finally {
    shown.end();
    if (handle) inFlight.delete(handle.workflowId);
  }
}

/** How the outputs of a job that failed have ended. One that was ended from outside tells it only when it is asked. */
async function outputsOf(error: unknown, handle: ConversionHandle | undefined): Promise<readonly OutputResult[]> {
  if (!(error instanceof ConversionFailedError) || !handle) return [];
  if (error.details) return error.details.outputs ?? [];
  const state = await handle.state().catch(() => undefined);
  return state?.outputs ?? [];
}

export function requestOf(
  { input, results }: PlannedJob,
  { from, param, onExisting, mode, policies }: Pick<RunOptions, 'from' | 'param' | 'onExisting' | 'mode' | 'policies'>,
): FileRequest {
  const [only, ...others] = results.map(({ to, destination }) =>
    defined({ output: to, parameters: param, destination }),
  );
  return {
    source: input.location,
    ...(only && others.length > 0 ? { outputs: [only, ...others] } : only),
    ...defined({ input: from, mode }),
    onExisting,
    ...(Object.keys(policies).length > 0 && { policies }),
  };
}

interface Ending {
  base: Pick<FileOutcome, 'workflowId' | 'joined' | 'seconds'>;
  /** Of the job: that of outputs that do not tell their own. */
  failure?: { code: string; message: string };
  cwd: string;
}

function describeOutputs(
  { input, results }: PlannedJob,
  outputs: readonly OutputResult[],
  { base, failure, cwd }: Ending,
): FileOutcome[] {
  return results.map(({ to, destination }, index): FileOutcome => {
    const own = outputs[index];
    const told = { file: input.file, to, ...base };
    if (own?.status === 'succeeded' || own?.status === 'skipped') return { ...told, ...describeResult(own) };
    const said: Pick<OutputResult, 'code' | 'message'> = own?.code === undefined ? (failure ?? {}) : own;
    const { code = 'FAILED', message = code } = said;
    // In terms of what was typed: paths instead of URIs, and the file as it was named.
    const ownSummary = /^.*? → \S+(?:, \S+)*?: /u;
    const text = message
      .replace(ownSummary, '')
      .replaceAll(toUri(input.location), () => input.file)
      .replaceAll(toUri(destination), () => shortPath(destination, cwd));
    return { ...told, status: 'failed', error: { code, message: `${input.file} → ${to}: ${text}` } };
  });
}

function describeResult({ status, output, possiblyChargedTwice, warnings = {} }: ConversionJobResult | OutputResult) {
  return {
    status: status === 'skipped' ? ('skipped' as const) : ('converted' as const),
    ...(output && { output: { ...output, path: shownPath(output.uri) } }),
    possiblyChargedTwice: possiblyChargedTwice === true,
    warnings,
  };
}

function readError(error: unknown, handle: ConversionHandle | undefined): { code: string; message: string } {
  if (error instanceof ConversionFailedError || error instanceof EarlierJobError) return error;
  if (error instanceof ServiceError) {
    const reason = error.cause?.message ?? error.message;
    const next = handle
      ? `The job ${handle.workflowId} continues when Temporal is back.`
      : 'The job may not have been started.';
    return { code: 'TEMPORAL_UNREACHABLE', message: `the connection to Temporal was lost (${reason}). ${next}` };
  }
  if (error instanceof WorkflowNotFoundError) {
    const message = `Temporal knows no job ${error.workflowId} any more. Does another server answer at its address?`;
    return { code: 'JOB_UNKNOWN', message };
  }
  return { code: 'UNEXPECTED', message: error instanceof Error ? error.message : String(error) };
}
