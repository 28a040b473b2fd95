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
import { z } from 'zod';
import { BatchRunningError } from '../client/batch-handle';
import { FileConversionClient } from '../client/file-conversion-client';
import { checkRequest, idText, InvalidRequestError, type ConversionRequest } from '../client/job-request';
import { SearchAttributesMissingError } from '../client/operations/list-jobs';
import { signalListedJobs } from '../client/operations/signal-app';
import { findWorkflow, readStartInput } from '../history/find-workflow';
import type { ConversionBatchInput } from '../batch/model/types';
import type { BatchState, ConversionBatchResult } from '../batch/model/state';
import type { ConversionJobInput, ConversionJobResult, ConversionJobState } from '../job/types';
import { isOpen } from '../job/job-outcome';
import { batchStateQuery, conversionBatchType, conversionJobType, conversionStateQuery } from '../job/names';
import {
  conversionService,
  type ConversionStateOutput,
  type ConvertBatchInput,
  type ConvertInput,
  type AppReadyOutput,
  type StateInput,
} from './index';

/**
 * The worker's side of the service `conversion`. Callers can reach jobs and batches of `apps`, and nothing else in the worker's
 * namespace.
 */
export function createConversionServiceHandler(apps: readonly string[]) {
  const requests = new CallerRequests(apps);
  return serviceHandler(conversionService, {
    convert: convertOperation(requests),
    convertBatch: new WorkflowRunOperationHandler<ConvertBatchInput, ConversionBatchResult>((ctx, input) =>
      withNexusErrors(() => startBatch(ctx, requests.convertBatch(input))),
    ),
    state: (_ctx, input) => withNexusErrors(() => stateOf(requests.state(input))),
    appReady: (_ctx, input) => withNexusErrors(() => signalReady(requests.appReady(input))),
  });
}

/** Cached, because a client knows the search attributes of the namespace. */
const clients = new WeakMap<Client, FileConversionClient>();

function conversionsOf(client: Client): FileConversionClient {
  const known = clients.get(client);
  if (known) return known;
  const conversions = new FileConversionClient({ client, taskQueue: operationInfo().taskQueue });
  clients.set(client, conversions);
  return conversions;
}

/** Converts an error about the request to one that Nexus does not retry. */
async function withNexusErrors<T>(answer: () => Promise<T>): Promise<T> {
  try {
    return await answer();
  } catch (error) {
    if (error instanceof InvalidRequestError) throw new HandlerError('BAD_REQUEST', error.message);
    if (error instanceof SearchAttributesMissingError) {
      const advice = 'Name a job by its key, or have them registered: fileconv namespace init';
      throw new HandlerError('BAD_REQUEST', `These jobs can't be notified: ${error.message}. ${advice}`);
    }
    throw error;
  }
}

type JobWorkflow = (input: ConversionJobInput) => Promise<ConversionJobResult>;
type BatchWorkflow = (input: ConversionBatchInput) => Promise<ConversionBatchResult>;

/** The parts of `convert` that Nexus provides: completion by callback, and cancellation. */
const jobRuns = new WorkflowRunOperationHandler<WorkflowStartOptions<JobWorkflow>, ConversionJobResult>((ctx, start) =>
  startWorkflow<JobWorkflow>(ctx, conversionJobType, start),
);

function convertOperation(requests: CallerRequests): OperationHandler<ConvertInput, ConversionJobResult> {
  return {
    start: (ctx, input) => withNexusErrors(() => startOrJoin(ctx, requests.convert(input))),
    cancel: (ctx, token) => jobRuns.cancel(ctx, token),
  };
}

/** Starts the job of this key, joins it if it is running, or returns its result. */
async function startOrJoin(
  ctx: StartOperationContext,
  { workflowId, request }: { workflowId: string; request: ConversionRequest },
): Promise<HandlerStartOperationResult<ConversionJobResult>> {
  const client = getClient();
  const start = await conversionsOf(client).jobStart(request, { workflowId });
  for (;;) {
    const earlier = await findConversion(client, workflowId);
    if (earlier) requireSameJob(earlier, start.args[0]);
    if (earlier?.open === false) return HandlerStartOperationResult.sync(await resultOf(client, earlier));
    try {
      // A job started concurrently has not been compared, so the next round joins it.
      return await jobRuns.start(ctx, {
        ...start,
        workflowIdReusePolicy: 'REJECT_DUPLICATE',
        workflowIdConflictPolicy: earlier ? 'USE_EXISTING' : 'FAIL',
      });
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    }
  }
}

/** The workflow under an id, and its input. */
type FoundWorkflow = { workflowId: string; runId: string; open: boolean } & (
  { kind: 'job'; input: ConversionJobInput } | { kind: 'batch'; input: ConversionBatchInput } | { kind: 'other' }
);

/** The latest run under this id, from its first event, so that jobs without search attributes are found too. */
async function findConversion(client: Client, workflowId: string): Promise<FoundWorkflow | undefined> {
  const description = await findWorkflow(client, workflowId);
  if (!description) return undefined;
  const { runId, type } = description;
  const found = { workflowId, runId, open: isOpen(description) };
  const input = () => readStartInput(client.workflow, found);
  if (type === conversionJobType) return { ...found, kind: 'job', input: (await input()) as ConversionJobInput };
  if (type === conversionBatchType) return { ...found, kind: 'batch', input: (await input()) as ConversionBatchInput };
  return { ...found, kind: 'other' };
}

/** Policies may differ: they change when a job gives up, not its result. An operator may have retried the job. */
function requireSameJob({ workflowId, ...earlier }: FoundWorkflow, input: ConversionJobInput): void {
  const madeOf = (each: ConversionJobInput) => ({
    ...each,
    policies: undefined,
    earlier: undefined,
    recall: undefined,
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

async function startBatch(ctx: StartOperationContext, request: ConvertBatchInput) {
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

async function stateOf(target: Target): Promise<ConversionStateOutput> {
  const client = getClient();
  const { kind, open, workflowId, runId } = await reach(client, target);
  const workflow = client.workflow.getHandle(workflowId, runId);
  if (kind === 'job') {
    return { workflowId, open, job: await workflow.query<ConversionJobState>(conversionStateQuery) };
  }
  return { workflowId, open, batch: await workflow.query<BatchState>(batchStateQuery) };
}

async function signalReady({ app, workflowId }: AppOrTarget): Promise<AppReadyOutput> {
  const client = getClient();
  if (workflowId === undefined) return { jobs: await signalListedJobs(client, { app }) };
  const { kind, open } = await reach(client, { app, workflowId });
  if (kind === 'batch') {
    throw new HandlerError(
      'BAD_REQUEST',
      `workflowId: ${workflowId} is a batch; without it all jobs of the app are told`,
    );
  }
  if (open) await conversionsOf(client).get(workflowId).appReady();
  return { jobs: open ? 1 : 0 };
}

/** A job or batch of this app. For the caller, any other workflow does not exist. */
async function reach(client: Client, { app, workflowId }: Target) {
  const found = await findConversion(client, workflowId);
  if (found && found.kind !== 'other' && found.input.app === app) return found;
  throw new HandlerError('NOT_FOUND', `App ${app} has no job or batch ${workflowId}.`);
}

// Callers' input is checked: their programs know neither our types nor the worker's folders.
const app = z.string();
const key = z
  .string()
  .max(200)
  .regex(/^[^\s\p{Cc}\p{Cs}]([^\p{Cc}\p{Cs}]*[^\s\p{Cc}\p{Cs}])?$/u, 'must be text such as archive-42');
const workflowId = idText;

const convertSchema = z.looseObject({ app, key });
const batchSchema = z.looseObject({ app });
const targetSchema = z
  .strictObject({ app, key: key.optional(), workflowId: workflowId.optional() })
  .refine((target) => target.key === undefined || target.workflowId === undefined, {
    message: 'must not be given beside workflowId',
    path: ['key'],
  });
const stateSchema = targetSchema.refine((target) => target.key !== undefined || target.workflowId !== undefined, {
  message: 'must be given, or workflowId',
  path: ['key'],
});

interface Target {
  app: string;
  workflowId: string;
}

type AppOrTarget = Omit<Target, 'workflowId'> & { workflowId: string | undefined };

/** Rejects invalid requests with an error that Nexus does not retry. */
class CallerRequests {
  constructor(private readonly apps: readonly string[]) {}

  convert(input: ConvertInput): { workflowId: string; request: ConversionRequest } {
    this.check(convertSchema, input, "This conversion can't be started.");
    const { key, ...request } = input;
    const { source, destination } = request;
    requireUris({ source, 'source.uri': (source as { uri?: unknown } | undefined)?.uri, destination });
    return { workflowId: jobIdOf(request.app, key), request };
  }

  convertBatch(input: ConvertBatchInput): ConvertBatchInput {
    this.check(batchSchema, input, "This batch can't be started.");
    const { manifest, out, runs, sources } = input;
    const named = Array.isArray(sources) ? sources.map((source: unknown, n) => [`sources.${n}`, source] as const) : [];
    requireUris({ manifest, out, runs, ...Object.fromEntries(named) });
    requireUrisOfEach('items', input.items, ['source', 'destination']);
    return input;
  }

  state(input: StateInput): Target {
    this.check(stateSchema, input, "This state can't be looked up.");
    return { app: input.app, workflowId: targetOf(input) ?? '' };
  }

  appReady(input: StateInput): AppOrTarget {
    this.check(targetSchema, input, "These jobs can't be notified.");
    return { app: input.app, workflowId: targetOf(input) };
  }

  private check(schema: z.ZodType, input: { app: string }, what: string): void {
    checkRequest(schema, input, what);
    if (this.apps.includes(input.app)) return;
    const allowed = this.apps.join(', ');
    throw new HandlerError('UNAUTHORIZED', `${what} app: callers may not use ${input.app}; they may use: ${allowed}`);
  }
}

/** Escapes slashes, so that two keys never share an id, whatever app they belong to. */
function jobIdOf(app: string, key: string): string {
  return `nexus/${encodeURIComponent(app)}/${key.replace(/[%/]/g, encodeURIComponent)}`;
}

function targetOf({ app, key, workflowId }: StateInput): string | undefined {
  return key === undefined ? workflowId : jobIdOf(app, key);
}

function requireUrisOfEach(list: string, entries: unknown, fields: readonly string[]): void {
  if (!Array.isArray(entries)) return;
  for (const [index, entry] of (entries as (Record<string, unknown> | null)[]).entries()) {
    requireUris(Object.fromEntries(fields.map((field) => [`${list}.${index}.${field}`, entry?.[field]])));
  }
}

/** Paths are relative to a working directory, which here would be the worker's. */
function requireUris(fields: Readonly<Record<string, unknown>>): void {
  for (const [field, value] of Object.entries(fields)) {
    if (typeof value !== 'string' || /^[a-z][a-z0-9+.-]+:/i.test(value)) continue;
    throw new InvalidRequestError(`${field}: must be a URI such as file:///invoices/17.docx, not a path`);
  }
}
