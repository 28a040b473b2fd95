import { fileURLToPath } from 'node:url';
import { InvalidRequestError } from 'temporal-file-conversion/internal/client/job-request';
import { NoSuchScheduleError, SweepSchedules } from 'temporal-file-conversion/internal/client/sweep-schedules';
import type { ListedSweepSchedule, SweepFailure } from 'temporal-file-conversion/internal/client/sweep-schedules';
import { printable, shellWord } from 'temporal-file-conversion/internal/shared/wording';
import type { CommandContext } from '../../command-context';
import { CommandError } from '../../command-error';
import { writtenDuration } from '../../config/duration';
import { bothTimes, formatTable, timeCells, timeHeads } from '../../output/text';
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
      for (const { name, lastFailure } of schedules) {
        if (lastFailure) output.print(printable(failedSweep(name, lastFailure)));
      }
    }
  });
}

/** Says why a schedule's last sweep failed, and what to type once that is mended. */
export function failedSweep(name: string, { code, message }: SweepFailure): string {
  return `The last sweep of schedule ${name} failed with ${code}: ${message} Once that is mended: fileconv schedule trigger ${shellWord(name)}`;
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

/** Any client of the namespace may have written it. */
function shownFolder(uri: string): string {
  try {
    return fileURLToPath(uri);
  } catch {
    return uri;
  }
}

export function pauseSchedule(context: CommandContext, name: string, { reason }: { reason: string }): Promise<void> {
  return control(context, name, async (schedules) => {
    await schedules.pause(name, reason);
    return `Schedule ${name} begins no more runs. Go on: fileconv schedule resume ${name}`;
  });
}

export function resumeSchedule(context: CommandContext, name: string): Promise<void> {
  return control(context, name, async (schedules) => {
    await schedules.resume(name, 'resumed with fileconv schedule resume');
    return `Schedule ${name} begins runs again. What was due meanwhile: fileconv schedule trigger ${name}`;
  });
}

export function triggerSchedule(context: CommandContext, name: string): Promise<void> {
  return control(context, name, async (schedules) => {
    await schedules.trigger(name);
    return `Schedule ${name} was asked for a run now. It looks for files first, and waits until they have settled; once there is something to do: fileconv batch status ${name}`;
  });
}

export function backfillSchedule(
  context: CommandContext,
  name: string,
  { since, until = new Date() }: { since: Date; until?: Date },
): Promise<void> {
  return control(context, name, async (schedules) => {
    await schedules.backfill(name, { start: since, end: until });
    return `Schedule ${name} makes up for what was due since ${bothTimes(since)}. How it goes: fileconv batch status ${name}`;
  });
}

export function deleteSchedule(context: CommandContext, name: string): Promise<void> {
  return control(context, name, async (schedules) => {
    await schedules.delete(name);
    return `Schedule ${name} is deleted. What it has converted stays.`;
  });
}

async function control(
  context: CommandContext,
  name: string,
  act: (schedules: SweepSchedules) => Promise<string>,
): Promise<void> {
  const { output } = context;
  return withTemporal(context, async ({ client, taskQueue }) => {
    let told: string;
    try {
      told = await act(new SweepSchedules({ client, taskQueue }));
    } catch (error) {
      if (error instanceof NoSuchScheduleError) {
        throw new CommandError('INPUT_UNUSABLE', [`There is no schedule ${name}. See: fileconv schedule list`], {
          cause: error,
        });
      }
      if (error instanceof InvalidRequestError) throw new CommandError('USAGE', [error.message], { cause: error });
      throw error;
    }
    if (output.json) output.printJson({ schedule: name, message: told });
    else output.print(told);
  });
}
