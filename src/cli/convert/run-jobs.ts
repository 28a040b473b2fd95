import { fileURLToPath, pathToFileURL } from 'node:url';
import { isGrpcServiceError } from '@temporalio/client';
import { ConversionFailedError } from '../../client/conversion-handle';
import type { ConversionHandle } from '../../client/conversion-handle';
import type { FileConversionClient } from '../../client/file-conversion-client';
import type { ConversionJobResult, ConversionPolicies, OnExisting, OutputFile } from '../../shared/job';
import { aborted } from '../stack/parent-process';
import type { PlannedJob } from './destinations';
import { shownPath } from './destinations';
import { currentStep } from './job-watch';
import type { FileOutcome } from './outcome';
import type { JobProgress } from './progress';

export interface RunOptions {
  client: FileConversionClient;
  /** Runs what asks Temporal, until the connection is closed. */
  untilClosed: <T>(run: () => Promise<T>) => Promise<T>;
  to: string;
  from: string | undefined;
  onExisting: OnExisting;
  policies: ConversionPolicies;
  /** Jobs in flight at a time. */
  parallel: number;
  cwd: string;
  progress: JobProgress;
  /** Called as each file ends, in the order in which they do. */
  onOutcome: (outcome: FileOutcome, done: number) => void;
  /** Ends the command's wait, not the jobs. */
  signal: AbortSignal;
}

/** Starts a job for each file, as many at a time as asked for, and waits for them. The outcomes come in the order of the files. */
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
  const { client, to, from, onExisting, policies, progress, untilClosed } = options;
  const { input, destination } = job;
  const startedAt = Date.now();
  const shown = progress.begin({ file: input.file, to });
  let handle: ConversionHandle | undefined;
  const base = () => ({
    file: input.file,
    ...(handle && { workflowId: handle.workflowId }),
    seconds: (Date.now() - startedAt) / 1_000,
  });
  try {
    const started = await client.start({
      source: input.path,
      output: to,
      ...(from !== undefined && { input: from }),
      destination,
      onExisting,
      ...(Object.keys(policies).length > 0 && { policies }),
    });
    handle = started;
    shown.started(() => untilClosed(() => currentStep(started)));
    const result = await Promise.race([started.result(), interrupted]);
    return result ? { ...base(), ...describeResult(result) } : { ...base(), status: 'unfinished' };
  } catch (error) {
    return { ...base(), status: 'failed', error: describeError(error, handle, job, options) };
  } finally {
    shown.end();
  }
}

function describeResult(result: ConversionJobResult): Pick<FileOutcome, 'status' | 'output'> & Partial<FileOutcome> {
  return {
    status: result.status === 'skipped' ? 'skipped' : 'converted',
    ...(result.output && { output: withPath(result.output) }),
    possiblyChargedTwice: result.possiblyChargedTwice,
    warnings: result.warnings,
  };
}

function withPath(output: OutputFile): OutputFile & { path: string } {
  return { ...output, path: fileURLToPath(output.uri) };
}

/** The failure in terms of what was typed: paths instead of URIs, and the file as it was named. */
function describeError(
  error: unknown,
  handle: ConversionHandle | undefined,
  { input, destination }: PlannedJob,
  { to, cwd }: RunOptions,
): { code: string; message: string } {
  const who = `${input.file} → ${to}`;
  if (error instanceof ConversionFailedError) {
    const ownSummary = /^.*? → \S+?: /u;
    const message = error.message
      .replace(ownSummary, '')
      .replaceAll(pathToFileURL(input.path).href, () => input.file)
      .replaceAll(pathToFileURL(destination).href, () => shownPath(destination, cwd));
    return { code: error.code, message: `${who}: ${message}` };
  }
  const reason = error instanceof Error ? error.message : String(error);
  const isLost = isGrpcServiceError(error);
  const after = handle
    ? `The job ${handle.workflowId} goes on when Temporal is back.`
    : 'Its job may not have been started.';
  return {
    code: isLost ? 'TEMPORAL_UNREACHABLE' : 'UNEXPECTED',
    message: isLost ? `${who}: the connection to Temporal was lost (${reason}). ${after}` : `${who}: ${reason}`,
  };
}
