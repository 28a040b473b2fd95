import { fileURLToPath } from 'node:url';
import {
  type ListedSweepSchedule,
  NoSuchScheduleError,
  type SweepFailure,
  SweepSchedules,
} from 'temporal-file-conversion/client';
import type { ConversionSweepResult } from 'temporal-file-conversion/job';
import { counted, printable, shellWord, unmovedMessage } from 'temporal-file-conversion/messages';
import type { CommandContext } from '../../command-context';
import { explaining } from '../../command-error';
import { writtenDuration } from '../../config/duration';
import { formatTable, timeCells, timeHeads } from '../../output/text';
import { withTemporal } from '../../stack/open-temporal';

export async function listSchedules(context: CommandContext): Promise<void> {
  const { output } = context;
  return withTemporal(context, async ({ client, taskQueue }) => {
    const schedules = await new SweepSchedules({ client, taskQueue }).list();
    if (output.json) output.printJson({ schedules });
    else if (schedules.length === 0) output.say('No schedules. Make one: fileconv schedule create --help');
    else {
      const header = ['NAME', 'WHEN', 'FROM', 'TO', 'STATE', ...timeHeads('LAST'), ...timeHeads('NEXT')];
      output.print(formatTable(header, schedules.map(toRow)));
      for (const { name, lastResult, lastFailure, retrying } of schedules) {
        if (lastResult) for (const line of incompleteSweep(name, lastResult)) output.print(printable(line));
        if (lastFailure) output.print(printable(failedSweep(name, lastFailure)));
        if (retrying) output.print(printable(retryingSweep(name, retrying)));
      }
    }
  });
}

/** Lines about what the last sweep did not convert; empty if it converted everything. */
function incompleteSweep(name: string, result: ConversionSweepResult): string[] {
  if (result.status === 'batchRunning') return [];
  const { status, failed, cancelled, unmoved, planned: { leftOut = 0, warnings = [] } = {} } = result;
  const missed = [
    failed > 0 ? `${counted(failed, 'file')} not converted` : '',
    status === 'budget' ? `${counted(cancelled, 'file')} not tried, as the vCredits of --max-vcredits are spent` : '',
    leftOut > 0 ? `${counted(leftOut, 'file or folder', 'files or folders')} can't be read` : '',
  ].filter((each) => each !== '');
  const stayed = unmoved ? [`Schedule ${name}: ${unmovedMessage(unmoved)}`] : [];
  if (missed.length === 0) return stayed;
  const head = `The last sweep of schedule ${name} did not convert everything: ${missed.join(', ')}. See: fileconv batch status ${shellWord(name)}`;
  return [head, ...warnings.slice(0, 5).map((each) => `  ${each}`), ...stayed];
}

export function failedSweep(name: string, { code, message }: SweepFailure): string {
  return `The last sweep of schedule ${name} failed with ${code}: ${message} Once that is fixed: fileconv schedule trigger ${shellWord(name)}`;
}

export function retryingSweep(name: string, { code, message }: SweepFailure): string {
  return `The sweep of schedule ${name} can't look for files yet, and tries again by itself. ${code}: ${message}`;
}

function toRow({ name, work, isPaused, lastRunAt, nextRunAt }: ListedSweepSchedule): string[] {
  const every = work?.everyMs === undefined ? '' : `every ${writtenDuration(work.everyMs)}`;
  const zone = work?.timeZone === undefined ? '' : ` ${work.timeZone}`;
  return [
    name,
    work?.cron === undefined ? every : `${work.cron}${zone}`,
    work ? shownFolder(work.from) : '',
    work?.to ?? '',
    isPaused ? 'paused' : 'active',
    ...timeCells(lastRunAt),
    ...timeCells(nextRunAt),
  ].map(printable);
}

/** The URI may be invalid, because any client of the namespace may have written it. */
function shownFolder(uri: string): string {
  try {
    return fileURLToPath(uri);
  } catch {
    return uri;
  }
}

export function pauseSchedule(context: CommandContext, name: string, { reason }: { reason: string }): Promise<void> {
  const message = `Schedule ${name} starts no more runs. Continue: fileconv schedule resume ${shellWord(name)}`;
  return control(context, { name, message }, (schedules) => schedules.pause(name, reason));
}

export function resumeSchedule(context: CommandContext, name: string): Promise<void> {
  const message = `Schedule ${name} starts runs again. To catch up on a run that was due: fileconv schedule trigger ${shellWord(name)}`;
  const reason = 'resumed with fileconv schedule resume';
  return control(context, { name, message }, (schedules) => schedules.resume(name, reason));
}

export function triggerSchedule(context: CommandContext, name: string): Promise<void> {
  const message = `Schedule ${name} was asked for a run now. Once there is something to do: fileconv batch status ${shellWord(name)}`;
  return control(context, { name, message }, (schedules) => schedules.trigger(name));
}

export function deleteSchedule(context: CommandContext, name: string): Promise<void> {
  const message = `Schedule ${name} is deleted. What it has converted stays.`;
  return control(context, { name, message }, (schedules) => schedules.delete(name));
}

function control(
  context: CommandContext,
  { name, message }: { name: string; message: string },
  act: (schedules: SweepSchedules) => Promise<void>,
): Promise<void> {
  const none = () => `There is no schedule ${name}. See: fileconv schedule list`;
  return withTemporal(context, async ({ client, taskQueue }) => {
    await act(new SweepSchedules({ client, taskQueue })).catch(explaining(NoSuchScheduleError, 'INPUT_UNUSABLE', none));
    context.output.result({ schedule: name, message }, message);
  });
}
