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
import { defined } from 'temporal-file-conversion/internal/shared/defined';
import { toUri } from 'temporal-file-conversion/internal/client/job-request';
import { shownPath } from 'temporal-file-conversion/internal/storage/file-uri';
import { aborted } from '../stack/parent-process';
import { shownPath as shortPath, type PlannedResult } from './plan';
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

/** Starts a job for each result, `parallel` at a time, and waits for them. Outcomes are in the order of the files. */
export async function runJobs(planned: readonly PlannedResult[], options: RunOptions): Promise<FileOutcome[]> {
  const { parallel, signal, onOutcome } = options;
  const interrupted = aborted(signal);
  const outcomes = planned.map(({ input: { file }, to }): FileOutcome => ({
    file,
    to,
    status: 'notStarted',
    seconds: 0,
  }));
  const waiting = [...planned.entries()];
  let done = 0;
  async function lane(): Promise<void> {
    for (let next = waiting.shift(); next && !signal.aborted; next = waiting.shift()) {
      const [index, result] = next;
      const outcome = await options.untilClosed(() => runJob(result, options, interrupted));
      outcomes[index] = outcome;
      if (outcome.status === 'unfinished') continue;
      done += 1;
      onOutcome(outcome, done);
    }
  }
  await Promise.all(Array.from({ length: Math.min(parallel, planned.length) }, lane));
  return outcomes;
}

async function runJob(planned: PlannedResult, options: RunOptions, interrupted: Promise<void>): Promise<FileOutcome> {
  const { start, progress, untilClosed, inFlight } = options;
  const { input, to } = planned;
  const { file } = input;
  const startedAt = Date.now();
  const shown = progress.begin({ file, to });
  let handle: ConversionHandle | undefined;
  let isJoined: true | undefined;
  const told = () =>
    defined({
      file,
      to,
      workflowId: handle?.workflowId,
      joined: isJoined,
      seconds: (Date.now() - startedAt) / 1_000,
    });
  try {
    const { handle: started, joined } = await start(requestOf(planned, options));
    handle = started;
    if (joined) isJoined = true;
    if (joined) options.onJoined({ file, workflowId: started.workflowId });
    inFlight.set(started.workflowId, file);
    shown.started(() => untilClosed(() => currentStep(started)));
    const result = await Promise.race([started.result(), interrupted]);
    if (!result) return { ...told(), status: 'unfinished' };
    return { ...told(), ...describeResult(result) };
  } catch (error) {
    return { ...told(), status: 'failed', error: explain(readError(error, handle), planned, options.cwd) };
  } finally {
    shown.end();
    if (handle) inFlight.delete(handle.workflowId);
  }
}

function requestOf(
  { input, to, destination }: PlannedResult,
  { from, param, onExisting, mode, policies }: RunOptions,
): FileRequest {
  return {
    source: input.location,
    output: to,
    destination,
    ...defined({ input: from, parameters: param, mode }),
    onExisting,
    ...(Object.keys(policies).length > 0 && { policies }),
  };
}

/** In terms of what was typed: paths instead of URIs, and the file as it was named. */
function explain(
  { code, message }: NonNullable<FileOutcome['error']>,
  { input, to, destination }: PlannedResult,
  cwd: string,
): NonNullable<FileOutcome['error']> {
  const ownSummary = /^.*? → \S+: /u;
  const text = message
    .replace(ownSummary, '')
    .replaceAll(toUri(input.location), () => input.file)
    .replaceAll(toUri(destination), () => shortPath(destination, cwd));
  return { code, message: `${input.file} → ${to}: ${text}` };
}

function describeResult({ status, output, possiblyChargedTwice, warnings }: ConversionJobResult) {
  return {
    status: status === 'skipped' ? ('skipped' as const) : ('converted' as const),
    ...(output && { output: { ...output, path: shownPath(output.uri) } }),
    possiblyChargedTwice,
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
