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
} from 'temporal-file-conversion/internal/shared/job';
import { toUri } from 'temporal-file-conversion/internal/client/job-request';
import { shownPath } from 'temporal-file-conversion/internal/storage/file-uri';
import { aborted } from '../stack/parent-process';
import { shownPath as shortPath, type PlannedJob } from './plan';
import { currentStep, type JobProgress } from './progress';
import type { FileOutcome } from './report';
import { EarlierJobError, type FileRequest, type StartedJob } from './start-or-join';

export interface RunOptions {
  start: (request: FileRequest) => Promise<StartedJob>;
  /** Runs what asks Temporal, until the connection is closed. */
  untilClosed: <T>(run: () => Promise<T>) => Promise<T>;
  to: string;
  from: string | undefined;
  parameters: ConversionParameters | undefined;
  onExisting: OnExisting;
  mode: ConversionMode | undefined;
  policies: ConversionPolicies;
  parallel: number;
  cwd: string;
  progress: JobProgress;
  /** Files by the workflow ids of their jobs, as long as those are under way. */
  inFlight: Map<string, string>;
  /** Called when a file's job runs already. */
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
  const outcomes = jobs.map(({ input }): FileOutcome => ({ file: input.file, status: 'notStarted', seconds: 0 }));
  const waiting = [...jobs.entries()];
  let done = 0;
  async function lane(): Promise<void> {
    for (let next = waiting.shift(); next && !signal.aborted; next = waiting.shift()) {
      const [index, job] = next;
      const outcome = await options.untilClosed(() => runJob(job, options, interrupted));
      outcomes[index] = outcome;
      if (outcome.status === 'unfinished') continue;
      done += 1;
      onOutcome(outcome, done);
    }
  }
  await Promise.all(Array.from({ length: Math.min(parallel, jobs.length) }, lane));
  return outcomes;
}

async function runJob(job: PlannedJob, options: RunOptions, interrupted: Promise<void>): Promise<FileOutcome> {
  const { start, to, from, parameters, onExisting, mode, policies, progress, untilClosed, inFlight } = options;
  const { input, destination } = job;
  const startedAt = Date.now();
  const shown = progress.begin({ file: input.file, to });
  let handle: ConversionHandle | undefined;
  let isJoined = false;
  const base = () => ({
    file: input.file,
    ...(handle && { workflowId: handle.workflowId }),
    ...(isJoined && { joined: true as const }),
    seconds: (Date.now() - startedAt) / 1_000,
  });
  try {
    const { handle: started, joined } = await start({
      source: input.location,
      output: to,
      ...(from !== undefined && { input: from }),
      ...(parameters && { parameters }),
      destination,
      onExisting,
      ...(mode && { mode }),
      ...(Object.keys(policies).length > 0 && { policies }),
    });
    handle = started;
    isJoined = joined;
    if (joined) options.onJoined({ file: input.file, workflowId: started.workflowId });
    inFlight.set(started.workflowId, input.file);
    shown.started(() => untilClosed(() => currentStep(started)));
    const result = await Promise.race([started.result(), interrupted]);
    return result ? { ...base(), ...describeResult(result) } : { ...base(), status: 'unfinished' };
  } catch (error) {
    return { ...base(), status: 'failed', error: describeError(error, handle, job, options) };
  } finally {
    shown.end();
    if (handle) inFlight.delete(handle.workflowId);
  }
}

function describeResult({ status, output, possiblyChargedTwice, warnings }: ConversionJobResult) {
  return {
    status: status === 'skipped' ? ('skipped' as const) : ('converted' as const),
    ...(output && { output: { ...output, path: shownPath(output.uri) } }),
    possiblyChargedTwice,
    warnings,
  };
}

/** The failure in terms of what was typed: paths instead of URIs, and the file as it was named. */
function describeError(
  error: unknown,
  handle: ConversionHandle | undefined,
  { input, destination }: PlannedJob,
  { to, cwd }: RunOptions,
): { code: string; message: string } {
  const { code, message } = readError(error, handle);
  const ownSummary = /^.*? → \S+?: /u;
  const text = message
    .replace(ownSummary, '')
    .replaceAll(toUri(input.location), () => input.file)
    .replaceAll(toUri(destination), () => shortPath(destination, cwd));
  return { code, message: `${input.file} → ${to}: ${text}` };
}

function readError(error: unknown, handle: ConversionHandle | undefined): { code: string; message: string } {
  if (error instanceof ConversionFailedError || error instanceof EarlierJobError) return error;
  if (error instanceof ServiceError) {
    const reason = error.cause?.message ?? error.message;
    const next = handle
      ? `The job ${handle.workflowId} goes on when Temporal is back.`
      : 'The job may not have been started.';
    return { code: 'TEMPORAL_UNREACHABLE', message: `the connection to Temporal was lost (${reason}). ${next}` };
  }
  if (error instanceof WorkflowNotFoundError) {
    const message = `Temporal knows no job ${error.workflowId} any more. Does another server answer at its address?`;
    return { code: 'JOB_UNKNOWN', message };
  }
  return { code: 'UNEXPECTED', message: error instanceof Error ? error.message : String(error) };
}
