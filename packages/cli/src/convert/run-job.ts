import { ServiceError } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import {
  ConversionFailedError,
  type ConversionHandle,
} from 'temporal-file-conversion/internal/client/conversion-handle';
import { JobRunningError } from 'temporal-file-conversion/internal/client/file-conversion-client';
import type { ConversionRequest } from 'temporal-file-conversion/internal/client/job-request';
import { defined } from 'temporal-file-conversion/internal/shared/defined';
import type {
  ConversionMode,
  ConversionParameters,
  ConversionPolicies,
  OnExisting,
} from 'temporal-file-conversion/internal/shared/job';
import { printable } from 'temporal-file-conversion/internal/shared/wording';
import type { CommandContext } from '../command-context';
import { aborted } from '../stack/asked-to-end';
import type { StackInUse } from '../stack/open-temporal';
import { createStallReader, type Stall, StallNews } from '../waiting/stall';
import type { PlannedResult } from './plan';
import { currentStep, explainFailure, resultOf, showStep, type FileOutcome } from './report';

/** How every file is converted. */
export interface AskedConversion {
  from?: string;
  param?: ConversionParameters;
  onExisting: OnExisting;
  mode?: ConversionMode;
  policies: ConversionPolicies;
}

interface RunOptions {
  start: (request: ConversionRequest) => Promise<ConversionHandle>;
  stack: Pick<StackInUse, 'client' | 'untilClosed'>;
  asked: AskedConversion;
  /** Ends the command's wait, not the job. */
  signal: AbortSignal;
}

/** Starts the job of a single result and waits for it; the stall is what it waited for when the signal came. */
export async function runJob(
  context: CommandContext,
  planned: PlannedResult,
  { start, stack, asked, signal }: RunOptions,
): Promise<{ outcome: FileOutcome; stall?: Stall }> {
  const { output, cwd } = context;
  const { to } = planned;
  const { file } = planned.input;
  const startedAt = Date.now();
  let handle: ConversionHandle | undefined;
  let joined: true | undefined;
  const told = () =>
    defined({ file, to, workflowId: handle?.workflowId, joined, seconds: (Date.now() - startedAt) / 1_000 });
  const step = showStep(output, {
    file,
    to,
    async ask() {
      const started = handle;
      return started ? stack.untilClosed(() => currentStep(started)) : 'starting';
    },
  });
  const news = new StallNews({
    output,
    async explain() {
      if (!handle) return undefined;
      const { stall } = await createStallReader(context, stack.client).job(handle.workflowId);
      return stall && { who: file, stall };
    },
  });
  try {
    handle = await start(requestOf(planned, asked));
    if (handle.isAttached) {
      joined = true;
      output.say(printable(`${file}: job ${handle.workflowId} converts it already; waiting for that one.`));
    }
    const result = await Promise.race([handle.result(), aborted(signal)]);
    if (result) return { outcome: { ...told(), ...resultOf(result) } };
    return { outcome: { ...told(), status: 'unfinished' }, ...(news.last && { stall: news.last }) };
  } catch (error) {
    const failure = explainFailure(readError(error, handle), planned, cwd);
    return { outcome: { ...told(), status: 'failed', error: failure } };
  } finally {
    news.close();
    step.close();
  }
}

function requestOf(
  { input, to, destination }: PlannedResult,
  { from, param, onExisting, mode, policies }: AskedConversion,
): ConversionRequest {
  return {
    source: input.location,
    output: to,
    destination,
    ...defined({ input: from, parameters: param, mode }),
    onExisting,
    ...(Object.keys(policies).length > 0 && { policies }),
  };
}

function readError(error: unknown, handle: ConversionHandle | undefined): { code: string; message: string } {
  if (error instanceof ConversionFailedError || error instanceof JobRunningError) return error;
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
