import { ServiceError } from '@temporalio/client';
import { folderOf } from 'temporal-file-conversion/internal/batch/uris';
import type { FindingList } from 'temporal-file-conversion/internal/batch/plan/findings';
import { planBatch } from 'temporal-file-conversion/internal/batch/plan/plan-batch';
import type { PlannedBatch } from 'temporal-file-conversion/internal/batch/plan/planned-batch';
import { NoEarlierRunError, replanFailed } from 'temporal-file-conversion/internal/batch/plan/replan-failed';
import { discardRun, estimateVcredits, type BatchRun } from 'temporal-file-conversion/internal/batch/run-folders';
import {
  BatchRunningError,
  isRefusedStart,
  runFolderOf,
  type BatchHandle,
} from 'temporal-file-conversion/internal/client/batch-handle';
import { FileConversionClient } from 'temporal-file-conversion/internal/client/file-conversion-client';
import { findWorkflow } from 'temporal-file-conversion/internal/history/find-workflow';
import { defined } from 'temporal-file-conversion/internal/shared/defined';
import { isOpen } from 'temporal-file-conversion/internal/shared/job-outcome';
import type { FileStore } from 'temporal-file-conversion/internal/storage/file-store';
import { counted, shellWord } from 'temporal-file-conversion/internal/shared/wording';
import { planOrRefuse, tellDryRun, type Planning } from '../../batch/plan';
import { batchFolder, filesOf } from '../../batch/batch-folder';
import {
  checkName,
  readSettings,
  saveSettings,
  settleBatch,
  tellUnheeded,
  type JobSettings,
  type RunFlags,
} from '../../batch/settings';
import { watchBatch } from '../../batch/watch';
import type { CommandContext } from '../../command-context';
import { CommandError, exitCodes, explaining, type ExitCode } from '../../command-error';
import { chosenPolicies } from '../../config/load-config';
import { openTemporal, withTemporal, type StackInUse } from '../../stack/open-temporal';
import { untilAskedToEnd } from '../../stack/parent-process';
import { useStack } from '../../stack/use-stack';
import { stallJson, stallText, type Stall } from '../../waiting/stall';
import { requireBatch } from './look';

interface Undertaking {
  name: string;
  settings: JobSettings;
  flags: Partial<RunFlags>;
  plan: (options: Planning) => Promise<PlannedBatch>;
  files: FileStore;
  batchFolder: string;
}

/** `fileconv batch run`: exit code 0 only when every file is converted, now or by an earlier run. */
export async function batchRun(
  context: CommandContext,
  sources: readonly string[],
  flags: RunFlags,
): Promise<ExitCode> {
  const { name, app, plan: planOptions } = await settleBatch(context, sources, flags);
  const { files } = planOptions;
  const settings = jobSettings(context, app, flags);
  const { unconvertible } = settings;
  const repetition = { ...repetitionOf(settings, flags), unconvertible };
  if (flags.dryRun === true) {
    const signal = untilAskedToEnd(context);
    const plan = await planOrRefuse(context, { settings, signal, isDry: true }, (planning) =>
      planBatch({ ...planOptions, ...repetition, dryRun: true, ...planning }),
    );
    const vcredits = await estimateVcredits(files, { batchFolder: planOptions.batchFolder, todo: plan.todo });
    tellDryRun(context, { name, plan, vcredits, onExisting: settings.onExisting ?? 'fail' });
    return exitCodes.ok;
  }
  return undertake(context, {
    name,
    settings,
    flags,
    files,
    batchFolder: planOptions.batchFolder,
    plan: (planning) => planBatch({ ...planOptions, ...repetition, ...planning }),
  });
}

export async function batchRetry(
  context: CommandContext,
  name: string,
  { resubmit = false, again = false, runs }: { resubmit?: boolean; again?: boolean; runs?: string },
): Promise<ExitCode> {
  checkName(name);
  const files = filesOf(context);
  const folder = runs === undefined ? await findBatchFolder(context, name) : batchFolder(context, name, { runs });
  const saved = await readSettings(files, folder);
  const settings = saved ?? jobSettings(context, context.config.values.defaultApp, {});
  return undertake(context, {
    name,
    settings,
    flags: { resubmit, again },
    files,
    batchFolder: folder,
    plan(planning) {
      const { unconvertible } = settings;
      const rules = { ...repetitionOf(settings, { resubmit, again }), unconvertible };
      const none = () => `There is no batch ${name} here. See: fileconv batch list`;
      return replanFailed({ files, batchFolder: folder, ...rules, ...planning }).catch(
        explaining(NoEarlierRunError, 'INPUT_UNUSABLE', none),
      );
    },
  });
}

/** In the state folder, or where the batch that Temporal knows has its runs. */
async function findBatchFolder(context: CommandContext, name: string): Promise<string> {
  const here = batchFolder(context, name);
  if (await readSettings(filesOf(context), here)) return here;
  const elsewhere = await withTemporal(context, ({ client }) => runFolderOf(client, name)).catch(() => undefined);
  return elsewhere === undefined ? here : folderOf(elsewhere);
}

export async function batchWatch(context: CommandContext, name: string): Promise<ExitCode> {
  checkName(name);
  const signal = untilAskedToEnd(context);
  const stack = await openTemporal(context);
  try {
    const batch = clientOf(stack).getBatch(name);
    const isRunning = await stack.untilClosed(() => requireBatch(stack, name));
    if (isRunning) context.output.say(`Watching batch ${name}. Ctrl-C ends the watching, not the batch.`);
    return await watchToEnd(context, { stack, batch, name, signal });
  } finally {
    await stack.close();
  }
}

/** Plans, starts what is to be done or joins what is under way, and watches it to its end. */
async function undertake(context: CommandContext, undertaking: Undertaking): Promise<ExitCode> {
  const { name, settings, flags, plan, files, batchFolder: folder } = undertaking;
  const { output } = context;
  const signal = untilAskedToEnd(context);
  const rules = { settings, signal, isDry: false };
  const { tags = [], ...others } = settings;
  const input = defined({ ...others, unconvertible: undefined });
  const plannedAt = Date.now();
  let planned = await planOrRefuse(context, rules, plan);
  // Before anything is started: most mistakes are found without a stack.
  if (!planned.run) return tellNothingToDo(context, name, planned);
  const stack = await useStack(context, signal).catch(async (error: unknown) => {
    if (planned.run) await discardRun(files, planned.run.folder);
    throw error;
  });
  try {
    const client = clientOf(stack, settings.app);
    // Unreadable settings are about to be replaced.
    const earlier = await readSettings(files, folder).catch(() => undefined);
    const start = async (run: BatchRun): Promise<BatchHandle | undefined> => {
      try {
        await saveSettings(files, folder, settings);
      } catch (error) {
        await discardRun(files, run.folder);
        throw error;
      }
      try {
        return await stack.untilClosed(() =>
          client.startBatch(
            {
              name,
              folder: run.folder,
              items: planned.rows,
              ...input,
              ...(flags.resubmit === true && { resubmit: true }),
              ...(flags.again === true && { again: true }),
              ...(stack.uiUrl !== undefined && { uiUrl: stack.uiUrl }),
            },
            { tags },
          ),
        );
      } catch (error) {
        // The start may have been received all the same; a run that did nothing is recognised as such later.
        const isRefused = isRefusedStart(error);
        if (isRefused) await discardRun(files, run.folder);
        if (error instanceof BatchRunningError) {
          if (earlier) await saveSettings(files, folder, earlier);
          return undefined;
        }
        throw error instanceof ServiceError ? notStarted(name, error, isRefused) : error;
      }
    };
    const last = await stack.untilClosed(() => findWorkflow(stack.client, name));
    if (last?.closeTime && last.closeTime.getTime() >= plannedAt) {
      // The plan does not know how it ended.
      await discardRun(files, planned.run.folder);
      planned = await planOrRefuse(context, rules, plan);
      if (!planned.run) return tellNothingToDo(context, name, planned);
    }
    const isRunning = last !== undefined && isOpen(last);
    // Were it to end now, the start would go by a plan that knows nothing of it.
    if (isRunning) await discardRun(files, planned.run.folder);
    let batch = isRunning ? undefined : await start(planned.run);
    if (!batch) {
      output.say(`Batch ${name} is running already: watching it. What has changed since is converted afterwards.`);
      const unheeded = tellUnheeded({ name, flags, settings, earlier });
      if (unheeded !== undefined) output.say(unheeded);
      const { result, stall } = await watchBatch(context, { stack, batch: client.getBatch(name), signal });
      if (!result) return detached(context, { stack, name, stall });
      planned = await planOrRefuse(context, { ...rules, isJoined: true }, plan);
      if (!planned.run) {
        const unconvertible = settings.unconvertible === 'skip' ? 0 : unconvertibleRows(planned);
        return await (await loadFinish()).finishBatch(context, { stack, name, result, unconvertible });
      }
      batch = await start(planned.run);
      if (!batch)
        throw new CommandError('STATE_UNUSABLE', [
          `Batch ${name} was started by somebody else. Watch it: fileconv batch watch ${shellWord(name)}`,
        ]);
    }
    const skipped = planned.done > 0 ? `, ${counted(planned.done, 'file')} done before` : '';
    output.say(`Batch ${name}: ${counted(planned.todo, 'file')} to convert${skipped}.`);
    if (planned.kept > 0) output.say(tellKept(name, planned.kept));
    if (planned.missing.count > 0) output.say(tellMissing(planned.missing));
    return await watchToEnd(context, { stack, batch, name, signal });
  } finally {
    await stack.close();
  }
}

function notStarted(name: string, error: ServiceError, isRefused: boolean): CommandError {
  const reason = error.cause?.message ?? error.message;
  const text = isRefused
    ? `Temporal has refused to start batch ${name}: ${reason}`
    : `Nobody knows whether batch ${name} was started: the answer of Temporal was lost (${reason}). The same command again watches it, or starts it.`;
  return new CommandError('TEMPORAL_UNREACHABLE', [text], { cause: error });
}

function loadFinish() {
  return import('../../batch/finish.js');
}

async function watchToEnd(
  context: CommandContext,
  watched: { stack: StackInUse; batch: BatchHandle; name: string; signal: AbortSignal },
): Promise<ExitCode> {
  // Loaded now, while the command only waits.
  const finish = loadFinish();
  const { result, stall } = await watchBatch(context, watched);
  return result
    ? (await finish).finishBatch(context, { ...watched, result })
    : detached(context, { ...watched, stall });
}

function detached(
  { output }: CommandContext,
  { stack, name, stall }: { stack: StackInUse; name: string; stall: Stall | undefined },
): ExitCode {
  const watch = `fileconv batch watch ${shellWord(name)}`;
  const goesOn = stall ? `${stallText('It', stall)} Come back:` : 'It continues without this command. Come back:';
  const fate = stack.outlivesCommand
    ? `${goesOn} ${watch}`
    : `It stands still until a stack runs here. Come back: the same command again, or \`fileconv up\` and then: ${watch}`;
  output.say(`Detached from batch ${name}. ${fate}`);
  if (output.json) output.printJson({ batch: name, detached: true, ...(stall && stallJson(stall)) });
  return exitCodes.interrupted;
}

/** Of a batch with nothing to do. */
function unconvertibleRows({ rows, done, kept }: PlannedBatch): number {
  return rows - done - kept;
}

function tellNothingToDo({ output }: CommandContext, name: string, planned: PlannedBatch): ExitCode {
  const { rows, done, kept } = planned;
  // Were these to fail, there would be a problem in place of a plan.
  const unconvertible = unconvertibleRows(planned);
  if (output.json) {
    const counts = { items: rows, succeeded: 0, failed: kept, skipped: rows - kept, cancelled: 0, unfinished: 0 };
    output.printJson({
      batch: name,
      status: 'completed',
      counts,
      ...(unconvertible > 0 && { unconvertible }),
      failures: [],
    });
  } else if (rows === 0) output.print(`Batch ${name}: there are no files to convert.`);
  else {
    const skipped = unconvertible > 0 ? `, ${counted(unconvertible, 'file')} skipped` : '';
    output.print(`Batch ${name}: nothing to do, ${counted(done, 'file')} done before${skipped}.`);
  }
  if (kept > 0) output.warn(tellKept(name, kept));
  if (planned.missing.count > 0) output.warn(tellMissing(planned.missing));
  return kept > 0 ? exitCodes.failed : exitCodes.ok;
}

/** Results that somebody has moved away are nothing to be converted again. */
function tellMissing({ count, listed: [first] }: FindingList): string {
  const others = count > 1 ? ` And ${counted(count - 1, 'more result', 'more results')}.` : '';
  return `${first?.message ?? ''}${others} What was converted before is not converted again, unless you say --again.`;
}

function tellKept(name: string, kept: number): string {
  const what = `${counted(kept, 'file')} failed before after a submit that may have been charged, and ${kept === 1 ? 'is' : 'are'} not submitted again`;
  return `${what} (on_unknown_outcome is fail). Look at the service first; to convert all the same, and maybe pay twice: fileconv batch retry ${shellWord(name)} --resubmit`;
}

function jobSettings(context: CommandContext, app: string, flags: Partial<RunFlags>): JobSettings {
  const { config } = context;
  const { window, stopAfter, mode, tag: tags = [], onUnknownOutcome } = flags;
  const policies = chosenPolicies(config, defined({ onUnknownOutcome }));
  return {
    app,
    onExisting: flags.onExisting ?? config.values.policies.onExisting,
    unconvertible: flags.unconvertible ?? config.values.policies.unconvertible,
    ...defined({ window, stopAfter, mode }),
    ...(tags.length > 0 && { tags }),
    ...(Object.keys(policies).length > 0 && { policies }),
  };
}

function repetitionOf({ policies }: JobSettings, { resubmit, again }: Partial<RunFlags>) {
  const onUnknownOutcome = resubmit === true ? ('resubmit' as const) : policies?.onUnknownOutcome;
  return { onUnknownOutcome, again: again === true };
}

function clientOf({ client, taskQueue }: StackInUse, app?: string): FileConversionClient {
  return new FileConversionClient({ client, taskQueue, ...(app !== undefined && { app }) });
}
