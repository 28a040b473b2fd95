import type { Client } from '@temporalio/client';
import {
  chargedTwice,
  leftOutLines,
  leftOutOf,
  listRuns,
  progressText,
  reportPage,
} from 'temporal-file-conversion/batch';
import {
  FileConversionClient,
  isBatchRunning,
  listBatches,
  NoSuchScheduleError,
  readBatchInput,
  SweepSchedules,
} from 'temporal-file-conversion/client';
import type { BatchState, ConversionBatchResult } from 'temporal-file-conversion/job';
import { counted, formatCount, printable, shellWord, unmovedMessage } from 'temporal-file-conversion/messages';
import { shownPath } from 'temporal-file-conversion/storage';
import { filesOf } from '../../stores';
import { checkName } from '../../batch/settings';
import { explainBatchFailure } from '../../batch/watch';
import type { CommandContext } from '../../command-context';
import { CommandError } from '../../command-error';
import { formatTable, timeCells, timeHeads } from '../../output/text';
import type { StackInUse } from '../../stack/connect';
import { withTemporal } from '../../stack/open-temporal';
import { createStallReader, type Stall, stallJson, stallText } from '../../waiting/stall';
import { failedSweep, retryingSweep } from '../schedule/control';

const maxListed = 100;

export async function batchStatus(context: CommandContext, name: string): Promise<void> {
  checkName(name);
  const { output } = context;
  return withTemporal(context, async (temporal) => {
    const { state, stall } = await readState(context, temporal, name);
    const { lastFailure: sweepFailure, retrying } = (await scheduleOf(temporal.client, name)) ?? {};
    const codes = Object.entries(state.failures).sort(([, one], [, other]) => other - one);
    const { needsAttention, planned, missing = 0 } = state;
    const lines = [
      `Batch ${name}: ${state.status}. ${progressText(state, undefined)}.`,
      needsAttention && `  ${needsAttention.code}: ${needsAttention.message}`,
      ...codes.map(([code, count]) => `  ${count} ${code}`),
      ...chargedTwice(state.possiblyChargedTwice).map((line) => `  ${line}`),
      planned &&
        missing > 0 &&
        `  ${counted(missing, 'result is', 'results are')} gone. To make such results again, at a new charge: fileconv batch retry ${shellWord(name)} --again`,
      ...leftOutLines(leftOutOf(state)).map((line) => printable(`  ${line}`)),
      stall && !needsAttention && printable(`  ${stallText('It', stall)}`),
      sweepFailure && printable(failedSweep(name, sweepFailure)),
      retrying && printable(retryingSweep(name, retrying)),
      'unmoved' in state && printable(`  ${unmovedMessage(state.unmoved)}`),
      'reportFailure' in state && printable(`  There is no report: ${state.reportFailure}`),
    ];
    output.result(
      { batch: name, ...state, stall: stall && stallJson(stall), sweepFailure, retrying },
      lines.filter(Boolean).join('\n'),
    );
  });
}

export async function batchList(context: CommandContext): Promise<void> {
  const { output } = context;
  return withTemporal(context, async ({ client }) => {
    const batches = await listBatches(client, maxListed);
    if (output.json) output.printJson({ batches });
    else if (batches.length === 0) output.say('No batches.');
    else {
      const rows = batches.map(({ name, status, startedAt, endedAt, result }) => [
        name,
        result?.status ?? status.toLowerCase().replaceAll('_', ' '),
        result ? formatCount(result.items) : '',
        result ? formatCount(result.failed) : '',
        ...timeCells(startedAt),
        ...timeCells(endedAt),
      ]);
      const heads = ['NAME', 'STATUS', 'FILES', 'FAILED', ...timeHeads('STARTED'), ...timeHeads('ENDED')];
      output.print(formatTable(heads, rows));
    }
  });
}

export async function batchReport(context: CommandContext, name: string): Promise<void> {
  checkName(name);
  return withTemporal(context, async (temporal) => {
    const { output } = context;
    if (await requireBatch(temporal, name)) {
      const { state } = await readState(context, temporal, name);
      const { page, isThere } = (await runningPage(context, state)) ?? {};
      const where = isThere ? 'Report so far' : 'Its report is written for the first time when it has run for a while';
      const none =
        state.status === 'planning'
          ? 'It has no report yet.'
          : 'It has no report, because its items came from a program.';
      const lines = [
        `Batch ${name}: ${state.status}. ${progressText(state, undefined)}.`,
        page === undefined ? none : `${where}: ${shownPath(page)}`,
      ];
      output.result({ batch: name, ...state, page }, lines.join('\n'));
      return;
    }
    const result = await resultOf(temporal, name);
    const page = await earlierPage(context, temporal, { name, result });
    if (page !== undefined) {
      const text = `Batch ${name}: its last run had nothing to do. Report of the run before: ${shownPath(page)}`;
      output.result({ batch: name, ...result, page }, text);
      return;
    }
    const { finishBatch } = await import('../../batch/finish.js');
    await finishBatch(context, { stack: temporal, name, result, again: true });
  });
}

/** If the last run had nothing to do: URI of the latest page that an earlier run left. */
export async function earlierPage(
  context: CommandContext,
  { client }: Pick<StackInUse, 'client'>,
  { name, result }: { name: string; result: ConversionBatchResult },
): Promise<string | undefined> {
  if (!result.planned || result.results !== undefined) return undefined;
  const { plan } = (await readBatchInput(client, name)) ?? {};
  const files = filesOf(context);
  for (const { folder } of plan ? await listRuns(files, plan.folder) : []) {
    const page = reportPage(folder);
    if ((await files.look(page)).kind === 'file') return page;
  }
  return undefined;
}

/** URI of the page of a running batch; undefined during planning, and for inline items. */
export async function runningPage(context: CommandContext, { folder }: Pick<BatchState, 'folder'>) {
  if (folder === undefined) return undefined;
  const page = reportPage(folder);
  const { kind } = await filesOf(context).look(page);
  return { page, isThere: kind === 'file' };
}

async function readState(
  context: CommandContext,
  temporal: StackInUse,
  name: string,
): Promise<{ state: BatchState | ConversionBatchResult; stall?: Stall }> {
  if (!(await requireBatch(temporal, name))) return { state: await resultOf(temporal, name) };
  const { state, stall } = await createStallReader(context, temporal).batch(name);
  if (state) return { state, ...(stall && { stall }) };
  const why = stall ? stallText('It', stall) : 'What is broken: fileconv doctor';
  throw new CommandError('STATE_UNUSABLE', [`Batch ${name} is under way, but no worker answers how far it is. ${why}`]);
}

/** @returns whether the batch is running. @throws CommandError if there is none of this name. */
export async function requireBatch({ client }: Pick<StackInUse, 'client'>, name: string): Promise<boolean> {
  const isRunning = await isBatchRunning(client, name);
  if (isRunning !== undefined) return isRunning;
  const schedule = await scheduleOf(client, name);
  if (schedule?.lastFailure) throw new CommandError('BATCH_FAILED', [failedSweep(name, schedule.lastFailure)]);
  if (schedule?.retrying) throw new CommandError('STATE_UNUSABLE', [retryingSweep(name, schedule.retrying)]);
  if (schedule) {
    throw new CommandError('INPUT_UNUSABLE', [
      `Batch ${name} has not begun: schedule ${name} has found nothing to convert yet. Try again in a moment, or see: fileconv schedule list`,
    ]);
  }
  throw new CommandError('INPUT_UNUSABLE', [`There is no batch ${name}. See: fileconv batch list`]);
}

async function scheduleOf(client: Client, name: string) {
  try {
    return await new SweepSchedules({ client }).lastSweep(name);
  } catch (error) {
    if (error instanceof NoSuchScheduleError) return undefined;
    throw error;
  }
}

function resultOf({ client, taskQueue }: StackInUse, name: string): Promise<ConversionBatchResult> {
  const batch = new FileConversionClient({ client, taskQueue }).getBatch(name);
  return batch.result().catch(async (error: unknown) => {
    const { lastFailure } = (await scheduleOf(client, name)) ?? {};
    throw lastFailure ? new CommandError('BATCH_FAILED', [failedSweep(name, lastFailure)]) : explainBatchFailure(error);
  });
}
