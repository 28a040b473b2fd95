import { isDeepStrictEqual } from 'node:util';
import { type Client, WorkflowExecutionAlreadyStartedError, WorkflowFailedError } from '@temporalio/client';
import { CancelledFailure } from '@temporalio/common';
import {
  getClient,
  operationInfo,
  startWorkflow,
  WorkflowRunOperationHandler,
  type WorkflowStartOptions,
} from '@temporalio/nexus';
import {
  HandlerError,
  HandlerStartOperationResult,
  OperationError,
  serviceHandler,
  type OperationHandler,
  type StartOperationContext,
} from 'nexus-rpc';
import { BatchRunningError } from '../client/batch-handle';
import type { BatchRequest } from '../client/batch-request';
import { FileConversionClient } from '../client/file-conversion-client';
import { InvalidRequestError, type ConversionRequest } from '../client/job-request';
import { findConversion, type FoundWorkflow } from '../client/operations/find-conversion';
import { restoreListedCredits } from '../client/operations/tell-app';
import type { BatchState, ConversionBatchInput, ConversionBatchResult } from '../shared/batch';
import type { ConversionJobInput, ConversionJobResult, ConversionJobState } from '../shared/job';
import { batchStateQuery, conversionBatchType, conversionJobType, conversionStateQuery } from '../shared/names';
import {
  conversionService,
  type ConversionStateOutput,
  type ConvertBatchInput,
  type ConvertInput,
  type CreditsRestoredOutput,
} from '../shared/nexus-service';
import { CallerRequests, type Target } from './requests';

/**
 * The worker's side of the service `conversion`. Callers reach jobs and batches of `apps`, and nothing else of the
 * worker's namespace.
 */
export function createConversionServiceHandler(apps: readonly string[]) {
  const requests = new CallerRequests(apps);
  return serviceHandler(conversionService, {
    convert: convertOperation(requests),
    convertBatch: new WorkflowRunOperationHandler<ConvertBatchInput, ConversionBatchResult>((ctx, input) =>
      telling(() => startBatch(ctx, requests.convertBatch(input))),
    ),
    state: (_ctx, input) => telling(() => stateOf(requests.state(input))),
    creditsRestored: (_ctx, input) => telling(() => tellCredits(requests.creditsRestored(input))),
  });
}

/** One for each worker: it knows the search attributes of the namespace. */
const clients = new WeakMap<Client, FileConversionClient>();

function conversionsOf(client: Client): FileConversionClient {
  const known = clients.get(client);
  if (known) return known;
  const conversions = new FileConversionClient({ client, taskQueue: operationInfo().taskQueue });
  clients.set(client, conversions);
  return conversions;
}

/** An error of ours about the request becomes one that Nexus does not retry. */
async function telling<T>(answer: () => Promise<T>): Promise<T> {
  try {
    return await answer();
  } catch (error) {
    if (error instanceof InvalidRequestError) throw new HandlerError('BAD_REQUEST', error.message);
    throw error;
  }
}

type JobWorkflow = (input: ConversionJobInput) => Promise<ConversionJobResult>;
type BatchWorkflow = (input: ConversionBatchInput) => Promise<ConversionBatchResult>;

/** The part of `convert` that Nexus has of its own: completion by callback, and cancellation. */
const jobRuns = new WorkflowRunOperationHandler<WorkflowStartOptions<JobWorkflow>, ConversionJobResult>((ctx, start) =>
  startWorkflow<JobWorkflow>(ctx, conversionJobType, start),
);

function convertOperation(requests: CallerRequests): OperationHandler<ConvertInput, ConversionJobResult> {
  return {
    start: (ctx, input) => telling(() => startOrJoin(ctx, requests.convert(input))),
    cancel: (ctx, token) => jobRuns.cancel(ctx, token),
  };
}

/** Starts the job of this key, waits for the one that runs, or tells how it ended. */
async function startOrJoin(
  ctx: StartOperationContext,
  { workflowId, request }: { workflowId: string; request: ConversionRequest },
): Promise<HandlerStartOperationResult<ConversionJobResult>> {
  const client = getClient();
  const start = await conversionsOf(client).jobStart(request, { workflowId, reuse: 'never' });
  for (;;) {
    const earlier = await findConversion(client, workflowId);
    if (earlier) requireSameJob(earlier, start.args[0]);
    if (earlier?.open === false) return HandlerStartOperationResult.sync(await resultOf(client, earlier));
    try {
      // One that somebody starts at this moment was not compared: it is joined in the next round.
      return await jobRuns.start(ctx, { ...start, workflowIdConflictPolicy: earlier ? 'USE_EXISTING' : 'FAIL' });
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    }
  }
}

/** Policies may differ: they change when a job gives up, not what it makes. */
function requireSameJob({ workflowId, ...earlier }: FoundWorkflow, input: ConversionJobInput): void {
  const madeOf = ({ outputs, ...each }: ConversionJobInput) => ({
    ...each,
    policies: undefined,
    earlier: undefined,
    outputs: outputs?.map((output) => ({ ...output, earlier: undefined, done: undefined })),
  });
  if (earlier.kind === 'job' && isDeepStrictEqual(madeOf(earlier.input), madeOf(input))) return;
  throw new HandlerError(
    'CONFLICT',
    `key: it was already used with another input, for the job ${workflowId}; another conversion needs another key`,
  );
}

/** @throws OperationError with the job's own failure */
async function resultOf(client: Client, { workflowId, runId }: FoundWorkflow): Promise<ConversionJobResult> {
  try {
    return (await client.workflow.getHandle(workflowId, runId).result()) as ConversionJobResult;
  } catch (error) {
    if (!(error instanceof WorkflowFailedError)) throw error;
    const cause = error.cause ?? error;
    throw new OperationError(cause instanceof CancelledFailure ? 'canceled' : 'failed', cause.message, { cause });
  }
}

async function startBatch(ctx: StartOperationContext, request: BatchRequest) {
  const client = getClient();
  const start = await conversionsOf(client).batchStart(request);
  const { workflowId } = start;
  const earlier = await findConversion(client, workflowId);
  if (earlier && !(earlier.kind === 'batch' && earlier.input.app === request.app)) {
    throw new HandlerError('CONFLICT', `name: ${workflowId} is not free; choose another name`);
  }
  try {
    return await startWorkflow<BatchWorkflow>(ctx, conversionBatchType, start);
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    throw new HandlerError('CONFLICT', new BatchRunningError(workflowId, { cause: error }).message);
  }
}

async function stateOf({ app, workflowId }: Target): Promise<ConversionStateOutput> {
  const client = getClient();
  const { kind, open, runId } = await reach(client, { app, workflowId });
  const workflow = client.workflow.getHandle(workflowId, runId);
  if (kind === 'job') {
    return { workflowId, open, job: await workflow.query<ConversionJobState>(conversionStateQuery) };
  }
  return { workflowId, open, batch: await workflow.query<BatchState>(batchStateQuery) };
}

async function tellCredits({
  app,
  workflowId,
}: {
  app: string;
  workflowId: string | undefined;
}): Promise<CreditsRestoredOutput> {
  const client = getClient();
  if (workflowId === undefined) return { jobs: await restoreListedCredits(client, { app }) };
  const { kind, open } = await reach(client, { app, workflowId });
  if (kind === 'batch') {
    throw new HandlerError(
      'BAD_REQUEST',
      `workflowId: ${workflowId} is a batch; without it all jobs of the app are told`,
    );
  }
  if (open) await conversionsOf(client).get(workflowId).creditsRestored();
  return { jobs: open ? 1 : 0 };
}

/** A job or batch of this app. To a caller, any other workflow is one that there is not. */
async function reach(client: Client, { app, workflowId }: Target) {
  const found = await findConversion(client, workflowId);
  if (found && found.kind !== 'other' && found.input.app === app) return found;
  throw new HandlerError('NOT_FOUND', `App ${app} has no job or batch ${workflowId}.`);
}
