import { ServiceError } from '@temporalio/client';
import {
  estimateVcredits,
  type KeptRequest,
  leftOutLines,
  leftOutOf,
  readRequest,
} from 'temporal-file-conversion/batch';
import {
  BatchFailedError,
  type BatchHandle,
  BatchRunningError,
  FileConversionClient,
  isRefusedStart,
  readBatchInput,
} from 'temporal-file-conversion/client';
import {
  type BatchPlan,
  type ConversionBatchInput,
  type ConversionBatchResult,
  defined,
  endOfBatch,
  type PlannedRows,
} from 'temporal-file-conversion/job';
import { counted, printable, shellWord } from 'temporal-file-conversion/messages';
import { batchFolder } from '../../batch/batch-folder';
import { costText, showDryRun, showPlan } from '../../batch/plan';
import { checkName, settleBatch, type RunFlags } from '../../batch/settings';
import { requireProgram, runOnEnd } from '../../batch/on-end';
import { watchBatch } from '../../batch/watch';
import { makeStateFolders } from '../../allowed';
import type { CommandContext } from '../../command-context';
import { CommandError, exitCodes, type ExitCode } from '../../command-error';
import { chosenPolicies } from '../../config/load-config';
import type { StackInUse } from '../../stack/connect';
import { openTemporal, withTemporal } from '../../stack/open-temporal';
import { untilAskedToEnd } from '../../process/asked-to-end';
import { filesOf } from '../../stores';
import { useStack } from '../../stack/use-stack';
import type * as Finish from '../../batch/finish';
import { requireBatch } from './look';

interface BatchToRun {
  name: string;
  input: ConversionBatchInput;
  tags: readonly string[] | undefined;
  onEnd: string | undefined;
  signal: AbortSignal;
}

/** `fileconv batch run`: exit code 0 only if every file is converted, now or by an earlier run. */
export async function batchRun(
  context: CommandContext,
  sources: readonly string[],
  flags: RunFlags,
): Promise<ExitCode> {
  const signal = untilAskedToEnd(context);
  const { name, app, plan } = await settleBatch(context, sources, flags, signal);
  const input = toInput(context, { app, plan, flags });
  await requireProgram(context, flags.onEnd);
  if (flags.dryRun !== true) {
    return runBatch(context, { name, input, tags: flags.tag, onEnd: flags.onEnd, signal });
  }
  const { onExisting, policies, again = false } = input;
  const onUnknownOutcome = flags.resubmit === true ? 'resubmit' : policies?.onUnknownOutcome;
  const planned = await showPlan(context, { plan, app, onExisting, onUnknownOutcome, again }, signal);
  const { formats } = planned;
  const estimate = await estimateVcredits(filesOf(context), { app, batchFolder: plan.folder, formats });
  const { maxVcredits } = input;
  return showDryRun(context, { name, plan: planned, estimate, onExisting: onExisting ?? 'fail', maxVcredits });
}

export async function batchRetry(
  context: CommandContext,
  name: string,
  {
    resubmit,
    again,
    maxVcredits,
    onEnd,
    runs,
  }: Pick<RunFlags, 'resubmit' | 'again' | 'maxVcredits' | 'onEnd' | 'runs'>,
): Promise<ExitCode> {
  checkName(name);
  await requireProgram(context, onEnd);
  const found = await findRequest(context, name, runs);
  const { request, tags } = found ?? {};
  if (!request?.plan) {
    throw new CommandError('INPUT_UNUSABLE', [`There is no batch ${name} here. See: fileconv batch list`]);
  }
  const { folder, cwd, unconvertible, moves } = request.plan;
  const input = defined({
    ...request,
    ...defined({ maxVcredits }),
    // Hold for one run: those of the last one stand in Temporal's input.
    resubmit,
    again,
    // A schedule has moved its sources, so the paths of the last run no longer apply.
    plan: moves
      ? { ...request.plan, moves: { ...moves, restores: true as const } }
      : { ...defined({ folder, cwd, unconvertible }), what: 'last' as const },
    // This command watches the batch, so the rules for unattended batches don't apply.
    isScheduled: undefined,
  });
  return runBatch(context, { name, input, tags, onEnd, signal: untilAskedToEnd(context) });
}

/** The request of a batch's last run, from the file beside its runs or from Temporal. */
async function findRequest(
  context: CommandContext,
  name: string,
  runs: string | undefined,
): Promise<KeptRequest | undefined> {
  const kept = await readRequest(filesOf(context), batchFolder(context, name, { runs }));
  if (kept || runs !== undefined) return kept;
  const request = await withTemporal(context, ({ client }) => readBatchInput(client, name)).catch(() => undefined);
  return request && { request };
}

export async function batchWatch(
  context: CommandContext,
  name: string,
  { onEnd }: { onEnd?: string },
): Promise<ExitCode> {
  checkName(name);
  await requireProgram(context, onEnd);
  const signal = untilAskedToEnd(context);
  const stack = await openTemporal(context);
  try {
    const isRunning = await stack.untilClosed(() => requireBatch(stack, name));
    if (isRunning) context.output.say(`Watching batch ${name}. Ctrl-C stops watching, not the batch.`);
    return await watchToEnd(context, { stack, name, onEnd, signal });
  } finally {
    await stack.close();
  }
}

async function runBatch(context: CommandContext, { name, input, tags, onEnd, signal }: BatchToRun): Promise<ExitCode> {
  const { output } = context;
  // The batch stores its files in the state folder.
  await makeStateFolders(context);
  const stack = await useStack(context, signal);
  try {
    const asked = { ...input, ...(stack.uiUrl !== undefined && { uiUrl: stack.uiUrl }) };
    const start = (): Promise<BatchHandle | undefined> =>
      stack
        .untilClosed(() => clientOf(stack, input.app).startPlanned(name, asked, defined({ tags })))
        .catch((error: unknown) => {
          if (error instanceof BatchRunningError) return undefined;
          throw error instanceof ServiceError ? notStarted(name, error) : error;
        });
    let batch = await start();
    let joined: ConversionBatchResult | undefined;
    if (!batch) {
      const now = `Batch ${name} is already running, with the options it was started with: watching it.`;
      output.say(`${now} Whatever is left or has changed is converted afterwards, with the options of this command.`);
    }
    // If several commands wait for the batch, only one of them starts the next run.
    while (!batch) {
      joined = await watchBatch(context, { stack, batch: clientOf(stack).getBatch(name), signal });
      if (!joined) return detached(context, stack, name);
      batch = await start();
    }
    return await watchToEnd(context, { stack, name, onEnd, signal, joined });
  } finally {
    await stack.close();
  }
}

function notStarted(name: string, error: ServiceError): CommandError {
  const reason = error.cause?.message ?? error.message;
  const text = isRefusedStart(error)
    ? `Temporal has refused to start batch ${name}: ${reason}`
    : `It is not known whether batch ${name} was started: Temporal's answer was lost (${reason}). Run the same command again: it watches the batch, or starts it.`;
  return new CommandError('TEMPORAL_UNREACHABLE', [text], { cause: error });
}

interface WatchedBatch {
  stack: StackInUse;
  name: string;
  onEnd: string | undefined;
  signal: AbortSignal;
  /** Result of the batch that was already running when this command came. */
  joined?: ConversionBatchResult | undefined;
}

async function watchToEnd(context: CommandContext, watched: WatchedBatch): Promise<ExitCode> {
  const { name: batch, onEnd } = watched;
  // Loaded now, because the command only waits.
  const finish = import('../../batch/finish.js');
  const onPlanned = (planned: PlannedRows) => showPlanned(context, batch, planned);
  const result = await watchBatch(context, {
    ...watched,
    batch: clientOf(watched.stack).getBatch(batch),
    onPlanned,
  }).catch(async (error: unknown) => {
    const { cause } = error as { cause?: unknown };
    if (cause instanceof BatchFailedError && onEnd !== undefined) {
      await runOnEnd(context, onEnd, { batch, status: 'failed', code: cause.code, message: cause.message });
    }
    throw error;
  });
  if (!result) return detached(context, watched.stack, batch);
  const exitCode = await reportEnd(context, watched, { result, finish: await finish });
  if (onEnd !== undefined) await runOnEnd(context, onEnd, { batch, status: result.status, ...endOfBatch(result) });
  return exitCode;
}

async function reportEnd(
  context: CommandContext,
  watched: WatchedBatch,
  { result, finish }: { result: ConversionBatchResult; finish: typeof Finish },
): Promise<ExitCode> {
  const { name, joined } = watched;
  const { planned, folder } = result;
  if (planned && folder === undefined && result.status === 'completed') {
    const unconvertible = result.refused ?? 0;
    if (joined?.folder !== undefined) {
      return finish.finishBatch(context, { ...watched, result: joined, unconvertible });
    }
    return reportNothingToDo(context, name, { ...result, planned });
  }
  return finish.finishBatch(context, { ...watched, result });
}

function showPlanned({ output }: CommandContext, name: string, planned: PlannedRows): void {
  const { todo, done, kept, warnings, estimate } = planned;
  for (const warning of warnings) output.warn(printable(warning));
  if (todo === 0) return;
  const skipped = done > 0 ? `, ${counted(done, 'file')} done before` : '';
  output.say(`Batch ${name}: ${counted(todo, 'file')} to convert${skipped}.`);
  if (estimate && estimate.vcredits > 0) output.say(costText(estimate));
  if (kept > 0) output.say(keptMessage(name, kept));
}

function detached({ output }: CommandContext, { outlivesCommand }: StackInUse, name: string): ExitCode {
  const watch = `fileconv batch watch ${shellWord(name)}`;
  const consequence = outlivesCommand
    ? `It continues without this command. Come back: ${watch}`
    : `It makes no progress until a stack runs here. Come back: run the same command again, or \`fileconv up\` and then: ${watch}`;
  output.say(`Detached from batch ${name}. ${consequence}`);
  if (output.json) output.printJson({ batch: name, detached: true });
  return exitCodes.interrupted;
}

function reportNothingToDo(
  { output }: CommandContext,
  name: string,
  result: ConversionBatchResult & { planned: PlannedRows },
): ExitCode {
  const { failed, failures, planned } = result;
  const { rows, done, kept, warnings } = planned;
  const leftOut = leftOutOf(result);
  const unconvertible = rows - done - kept;
  if (output.json) {
    const counts = { items: rows, succeeded: 0, failed, skipped: rows - failed, cancelled: 0 };
    output.printJson({
      batch: name,
      status: 'completed',
      counts,
      ...(unconvertible > 0 && { unconvertible }),
      failures: Object.entries(failures).map(([code, count]) => ({ code, count })),
      ...leftOut,
      warnings,
    });
  } else if (rows === 0) output.print(`Batch ${name}: there are no files to convert.`);
  else {
    const how = failed > kept ? 'not converted' : 'skipped';
    const others = unconvertible > 0 ? `, ${counted(unconvertible, 'file')} ${how}` : '';
    output.print(`Batch ${name}: nothing to do, ${counted(done, 'file')} done before${others}.`);
  }
  const [leftOutLine] = leftOutLines(leftOut);
  if (leftOutLine !== undefined && !output.json) output.print(leftOutLine);
  if (kept > 0) output.warn(keptMessage(name, kept));
  return failed > 0 || leftOut.leftOut ? exitCodes.failed : exitCodes.ok;
}

function keptMessage(name: string, kept: number): string {
  const what = `${counted(kept, 'file')} failed before after a submit that may have been charged, and ${kept === 1 ? 'is' : 'are'} not submitted again`;
  return `${what} (on_unknown_outcome is fail). Look at the service first; to convert all the same, and maybe pay twice: fileconv batch retry ${shellWord(name)} --resubmit`;
}

function toInput(
  { config }: CommandContext,
  { app, plan, flags }: { app: string; plan: BatchPlan; flags: RunFlags },
): ConversionBatchInput {
  const { window, stopAfter, maxVcredits, mode, notify, resubmit, again } = flags;
  return {
    app,
    plan,
    onExisting: flags.onExisting ?? config.values.policies.onExisting,
    ...defined({ window, stopAfter, maxVcredits, mode, notify, resubmit, again }),
    ...chosenPolicies(config, flags),
  };
}

function clientOf({ client, taskQueue }: StackInUse, app?: string): FileConversionClient {
  return new FileConversionClient({ client, taskQueue, ...(app !== undefined && { app }) });
}
