import { createHash } from 'node:crypto';
import path from 'node:path';
import { sameContent } from 'temporal-file-conversion/internal/batch/contents';
import type { BatchHandle } from 'temporal-file-conversion/internal/client/batch-handle';
import { FileConversionClient } from 'temporal-file-conversion/internal/client/file-conversion-client';
import { InvalidRequestError, newWorkflowId, toUri } from 'temporal-file-conversion/internal/client/job-request';
import { hidesPayloads } from 'temporal-file-conversion/internal/encryption/data-converter';
import { findWorkflow } from 'temporal-file-conversion/internal/history/find-workflow';
import {
  maxWindow,
  type BatchItemResult,
  type ConversionBatchResult,
} from 'temporal-file-conversion/internal/shared/batch';
import { defined } from 'temporal-file-conversion/internal/shared/defined';
import { isOpen } from 'temporal-file-conversion/internal/shared/job-outcome';
import { parametersKey } from 'temporal-file-conversion/internal/shared/parameters';
import { printable } from 'temporal-file-conversion/internal/shared/wording';
import { filesOf } from '../batch/batch-folder';
import { watchBatch } from '../batch/watch';
import type { CommandContext } from '../command-context';
import { explaining, throwIfAny } from '../command-error';
import { aborted } from '../stack/asked-to-end';
import type { StackInUse } from '../stack/open-temporal';
import type { Stall } from '../waiting/stall';
import { explainExisting, isUri, type PlannedResult } from './plan';
import { explainFailure, resultOf, type FileOutcome } from './report';
import type { AskedConversion } from './run-job';

interface RunOptions {
  stack: StackInUse;
  conversions: FileConversionClient;
  asked: AskedConversion & { app: string; parallel: number; tags: readonly string[]; resubmit?: true; again?: true };
  /** Results that are there already, though none may be: right only if this batch has delivered them. */
  existing: readonly string[];
  /** What does the same for more files. */
  asBatchRun: string;
  /** Called as each file ends, in the order in which they do. */
  onOutcome: (outcome: FileOutcome, done: number) => void;
  /** Ends the command's wait, not the batch. */
  signal: AbortSignal;
}

/** Of a command that is interrupted, for what has ended since the look before. */
const lastLookMs = 500;

interface EndedBatch {
  batch: string;
  /** In the order of the files. */
  outcomes: FileOutcome[];
  stall?: Stall;
}

/**
 * Converts several results as the items of a batch, whose name says what was asked: typed again, the command attaches.
 * @throws CommandError
 */
export async function runBatch(
  context: CommandContext,
  planned: readonly PlannedResult[],
  { stack, conversions, asked, existing, asBatchRun, onOutcome, signal }: RunOptions,
): Promise<EndedBatch> {
  const { output, cwd } = context;
  const name = batchNameOf(planned, asked, hidesPayloads(stack.client.options.loadedDataConverter));
  const known = await stack.untilClosed(() => findWorkflow(stack.client, name));
  if (!known) throwIfAny('DESTINATION_UNUSABLE', explainExisting(existing));
  const attached: Pick<FileOutcome, 'joined'> = known && isOpen(known) ? { joined: true } : {};
  if (attached.joined) output.say(`Batch ${name} converts these files already; waiting for it.`);
  const tooLarge = ({ message }: InvalidRequestError) => `${message}, or use: ${asBatchRun}`;
  const batch = await stack
    .untilClosed(() => start(conversions, { name, planned, asked }))
    .catch(explaining(InvalidRequestError, 'USAGE', tooLarge));
  const startedAt = Date.now();
  const outcomes = new Map<number, FileOutcome>();
  const tell = (result: BatchItemResult): void => {
    const asPlanned = planned[result.item - 1];
    if (!asPlanned || outcomes.has(result.item)) return;
    const outcome = { ...attached, ...outcomeOf(result, asPlanned, cwd) };
    outcomes.set(result.item, outcome);
    onOutcome(outcome, outcomes.size);
  };
  const over = new AbortController();
  const look = (until: AbortSignal) => stack.untilClosed(() => tellAll(batch, tell, until)).catch(() => undefined);
  void look(over.signal);
  const find = () => new FileConversionClient({ client: stack.client, taskQueue: stack.taskQueue }).getBatch(name);
  const afterFailure = 'Jobs in flight continue. The same command again does what is left.';
  const { result, stall } = await watchBatch(context, { stack, find, signal, afterFailure }).finally(() =>
    over.abort(),
  );
  if (result) {
    result.itemResults?.forEach(tell);
    if (attached.joined) await tellChanges(context, planned, result);
  } else {
    const lastLook = AbortSignal.timeout(lastLookMs);
    await Promise.race([look(lastLook), aborted(lastLook)]);
  }
  const seconds = (Date.now() - startedAt) / 1_000;
  return {
    batch: name,
    outcomes: planned.map(
      ({ input: { file }, to }, index): FileOutcome =>
        outcomes.get(index + 1) ?? { file, to, ...attached, status: 'unfinished', seconds },
    ),
    ...(stall && { stall }),
  };
}

function start(
  conversions: FileConversionClient,
  { name, planned, asked }: { name: string; planned: readonly PlannedResult[]; asked: RunOptions['asked'] },
): Promise<BatchHandle> {
  const { from, param, onExisting, mode, policies, parallel, tags, resubmit, again } = asked;
  const items = planned.map(({ input, to, destination }) => ({
    ...defined({ source: input.location, output: to, input: from, parameters: param }),
    destination,
  }));
  const settings = {
    window: Math.min(parallel, maxWindow),
    onExisting,
    policies,
    ...defined({ mode, resubmit, again }),
  };
  // Somebody waits, as for a single job.
  const options = { onRunning: 'attach', tags, priority: { priorityKey: 3 } } as const;
  return conversions.startBatch({ name, items, ...settings }, options);
}

/** The same for every command that asks for the same: `convert-letters-3f2a91c04d5e6f70`. */
function batchNameOf(
  planned: readonly PlannedResult[],
  { app, from, param }: RunOptions['asked'],
  isHidden: boolean,
): string {
  const results = planned.map(({ input, to, destination }) => [toUri(input.location), to, toUri(destination)]);
  const identity = JSON.stringify([app, from ?? null, results]) + parametersKey(param);
  const suffix = createHash('sha256').update(identity).digest('hex').slice(0, 16);
  const locations = new Set(planned.map(({ input }) => input.location));
  const [first = ''] = locations;
  const uri = toUri(locations.size === 1 ? first : path.posix.dirname(first));
  return newWorkflowId({ uri }, { isHidden, suffix }).replace('/', '-');
}

/** Until the end, or the signal. */
async function tellAll(
  batch: BatchHandle,
  tell: (result: BatchItemResult) => void,
  signal: AbortSignal,
): Promise<void> {
  for await (const result of batch.results({ signal })) {
    if (signal.aborted) return;
    tell(result);
  }
}

function outcomeOf(result: BatchItemResult, planned: PlannedResult, cwd: string): FileOutcome {
  const { input, to } = planned;
  const { workflowId, durationMs = 0, status, code = 'FAILED' } = result;
  const told = { file: input.file, to, ...defined({ workflowId }), seconds: durationMs / 1_000 };
  if (status === 'succeeded' || status === 'skipped') return { ...told, ...resultOf({ ...result, status }) };
  const failure =
    status === 'cancelled'
      ? { code: 'CANCELLED', message: result.message ?? 'its batch was cancelled' }
      : { code, message: result.message ?? code };
  return { ...told, status: 'failed', error: explainFailure(failure, planned, cwd) };
}

/** A batch that runs has uploaded what the files held then. */
async function tellChanges(
  context: CommandContext,
  planned: readonly PlannedResult[],
  { itemResults = [] }: ConversionBatchResult,
): Promise<void> {
  const told = new Set<string>();
  for (const { item, status, source: content } of itemResults) {
    const { input } = planned[item - 1] ?? {};
    if (!input || status !== 'succeeded' || !content || isUri(input.location) || told.has(input.file)) continue;
    told.add(input.file);
    if (await sameContent(filesOf(context), toUri(input.location), { content })) continue;
    context.output.warn(
      printable(`${input.file} has changed since it was uploaded. Convert it again when you are ready.`),
    );
  }
}
