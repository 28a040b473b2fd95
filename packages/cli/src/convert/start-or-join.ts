import { createHash } from 'node:crypto';
import { WorkflowExecutionAlreadyStartedError, type Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { sameContent } from 'temporal-file-conversion/internal/batch/contents';
import type { ConversionHandle } from 'temporal-file-conversion/internal/client/conversion-handle';
import type { StartOptions } from 'temporal-file-conversion/internal/client/start-options';
import type { FileConversionClient } from 'temporal-file-conversion/internal/client/file-conversion-client';
import {
  newWorkflowId,
  toJobInput,
  toUri,
  type ConversionRequest,
} from 'temporal-file-conversion/internal/client/job-request';
import { readJob, readOutputs } from 'temporal-file-conversion/internal/client/operations/inspect-job';
import { hidesPayloads } from 'temporal-file-conversion/internal/encryption/data-converter';
import type { ConversionOutput, SourceContent } from 'temporal-file-conversion/internal/shared/job';
import { parametersKey } from 'temporal-file-conversion/internal/shared/parameters';
import type { FileStore } from 'temporal-file-conversion/internal/storage/file-store';
import { earlierOfNext, type EarlierRuns } from 'temporal-file-conversion/internal/shared/charge';
import { shellWord } from 'temporal-file-conversion/internal/shared/wording';
import { isUri } from './plan';

/** The job of a file cannot be started beside, or after, an earlier one. */
export class EarlierJobError extends Error {
  override readonly name = 'EarlierJobError';
  constructor(
    readonly code: 'SOURCE_CHANGED' | 'OUTCOME_UNKNOWN',
    message: string,
  ) {
    super(message);
  }
}

export interface FileRequest extends ConversionRequest {
  source: string;
}

export interface StartedJob {
  handle: ConversionHandle;
  joined: boolean;
}

interface Starting {
  files: FileStore;
  temporal: Client;
  conversions: FileConversionClient;
  app: string;
  tags: readonly string[];
}

/**
 * Starts the job of a request, or joins the one that an interrupted command has left running, which may be paid for.
 * What an ended one has left at the service is decided upon as in a batch: see docs/repetition.md.
 *
 * @throws EarlierJobError, InvalidRequestError
 */
export async function startOrJoin(
  { files, temporal, conversions, app, tags }: Starting,
  request: FileRequest,
): Promise<StartedJob> {
  const workflowId = idOf(request, { temporal, app });
  let known: Known = {};
  for (let reuse: StartOptions['reuse'] = 'never'; ; reuse = 'always') {
    try {
      const handle = await conversions.start(
        { ...request, ...known, describeSource: true },
        { workflowId, reuse, tags },
      );
      return { handle, joined: false };
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    }
    const left = await readLeft({ files, temporal }, workflowId, request);
    if (left === 'running') return { handle: conversions.get(workflowId), joined: true };
    known = left;
  }
}

/** Whether the job of a request runs: one that `startOrJoin` would join. */
export async function isUnderWay(starting: Starting, request: FileRequest): Promise<boolean> {
  try {
    const { status } = await starting.temporal.workflow.getHandle(idOf(request, starting)).describe();
    return status.name === 'RUNNING';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

/** The same for every request that asks for the same. */
function idOf(request: FileRequest, { temporal, app }: Pick<Starting, 'temporal' | 'app'>): string {
  const input = toJobInput(request, app);
  const { source, output, outputs = [], parameters, destination } = input;
  const asked = JSON.stringify([input.app, source, input.input ?? null, output, destination]);
  const identity = [asked + parametersKey(parameters), ...outputs.map(outputKey)].join();
  const suffix = createHash('sha256').update(identity).digest('hex').slice(0, 16);
  return newWorkflowId(source, { isHidden: hidesPayloads(temporal.options.loadedDataConverter), suffix });
}

function outputKey({ output, parameters, destination }: ConversionOutput): string {
  return JSON.stringify([output, destination]) + parametersKey(parameters);
}

type Known = Pick<ConversionRequest, 'earlier' | 'outputs'>;

async function readLeft(
  { files, temporal }: Pick<Starting, 'files' | 'temporal'>,
  workflowId: string,
  { source, outputs, policies }: FileRequest,
): Promise<'running' | Known> {
  const { status, history } = await readJob(temporal, workflowId);
  const { charge } = history;
  const isSameContent = charge.source === undefined || (await isStill(files, source, charge.source));
  if (status === 'running') {
    if (isSameContent) return 'running';
    const id = shellWord(workflowId);
    throw new EarlierJobError(
      'SOURCE_CHANGED',
      `the file has changed since job ${workflowId} uploaded it, and that job still runs. Wait for it (fileconv job watch ${id}) or end it (fileconv job cancel ${id}), then convert again`,
    );
  }
  // Whoever converts a file again whose result was delivered wants another result.
  if (status === 'completed') return {};
  const rules = { onUnknownOutcome: policies?.onUnknownOutcome ?? 'resubmit', resubmit: false };
  const next = (left: EarlierRuns) => {
    const earlier = earlierOfNext(left, { rules, isSameContent });
    if (earlier !== 'keep') return earlier && { earlier };
    throw new EarlierJobError(
      'OUTCOME_UNKNOWN',
      `job ${workflowId} ended without knowing the outcome of its submit, which may have been charged. Look at the service; to convert all the same: fileconv job retry ${shellWord(workflowId)} --resubmit`,
    );
  };
  if (!outputs) return { ...next(charge) };
  const ends = await readOutputs(temporal, workflowId, history);
  return {
    outputs: outputs.map((output, index) => {
      const end = ends[index];
      if (end?.status === 'running') {
        const id = shellWord(end.workflowId);
        throw new EarlierJobError(
          'OUTCOME_UNKNOWN',
          `output ${end.format} of job ${workflowId}, which has ended, still runs. Wait for it (fileconv job watch ${id}) or end it (fileconv job cancel ${id}), then convert again`,
        );
      }
      return { ...output, ...(end && end.status !== 'succeeded' && end.status !== 'skipped' && next(end.left)) };
    }),
  };
}

async function isStill(files: FileStore, source: string, content: SourceContent): Promise<boolean> {
  const uri = toUri(source);
  // A command may lack the credentials of its workers: what it cannot see counts as unchanged.
  if (isUri(source) && (await files.look(uri).catch(() => undefined))?.kind !== 'file') return true;
  return (await sameContent(files, uri, { content })) !== undefined;
}
