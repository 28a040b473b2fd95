import { stat } from 'node:fs/promises';
import path from 'node:path';
import { InvalidRequestError } from 'temporal-file-conversion/internal/client/job-request';
import type { SweepOverlap, SweepTimes } from 'temporal-file-conversion/internal/client/sweep-request';
import { ScheduleTakenError, SweepSchedules } from 'temporal-file-conversion/internal/client/sweep-schedules';
import type { OnExisting } from 'temporal-file-conversion/internal/shared/job';
import { batchFolder, checkName, defaultName } from '../../batch/settings';
import type { CommandContext } from '../../command-context';
import { CommandError } from '../../command-error';
import { chosenPolicies } from '../../config/load-config';
import { settleFormats } from '../../formats/check';
import { isEncrypting } from '../../keys/encryption-settings';
import { withTemporal } from '../../stack/open-temporal';

export interface CreateFlags {
  /** Milliseconds. */
  every?: number;
  cron?: string;
  timeZone?: string;
  from: string;
  to: string;
  out: string;
  name?: string;
  recursive?: boolean;
  exclude: string[];
  overlap: SweepOverlap;
  /** Milliseconds. */
  settled?: number;
  onExisting?: OnExisting;
  app?: string;
}

export async function createSchedule(context: CommandContext, flags: CreateFlags): Promise<void> {
  const { config, cwd, output } = context;
  const times = timesOf(flags);
  const [from, out] = [path.resolve(cwd, flags.from), path.resolve(cwd, flags.out)];
  await requireFolder(from, { shown: flags.from, flag: '--from' });
  await requireFolder(out, { shown: flags.out, flag: '--out', mayBeNew: true });
  const name = flags.name ?? defaultName([flags.from], { cwd, to: flags.to, out, isHidden: isEncrypting(context) });
  checkName(name);
  const app = flags.app ?? config.values.defaultApp;
  const extension = await settleFormats(context, app, { inputs: [], from: undefined, to: flags.to });
  const policies = chosenPolicies(config, {});
  return withTemporal(context, async ({ client, taskQueue, uiUrl }) => {
    try {
      await new SweepSchedules({ client, taskQueue, app }).create({
        name,
        times,
        from,
        to: flags.to,
        out,
        extension,
        batchFolder: batchFolder(context, name),
        recursive: flags.recursive === true,
        exclude: flags.exclude,
        ...(flags.settled !== undefined && { settledForMs: flags.settled }),
        overlap: flags.overlap,
        onExisting: flags.onExisting ?? config.values.policies.onExisting,
        ...(Object.keys(policies).length > 0 && { policies }),
        ...(uiUrl !== undefined && { uiUrl }),
      });
    } catch (error) {
      throw explain(error, name);
    }
    if (output.json) output.printJson({ schedule: name, created: true });
    else {
      output.print(`Schedule ${name} converts what is new or changed in ${flags.from} to ${flags.to}.`);
      output.say(`A first run now: fileconv schedule trigger ${name}. How a run goes: fileconv batch status ${name}`);
    }
  });
}

function timesOf({ every, cron, timeZone }: CreateFlags): SweepTimes {
  if ((every === undefined) === (cron === undefined)) {
    throw usage('name either --every or --cron, for example --every 1h.');
  }
  if (cron !== undefined) return { cron, ...(timeZone !== undefined && { timeZone }) };
  if (timeZone !== undefined) throw usage('--time-zone is for --cron.');
  return { everyMs: every ?? 0 };
}

async function requireFolder(
  folder: string,
  { shown, flag, mayBeNew = false }: { shown: string; flag: string; mayBeNew?: boolean },
): Promise<void> {
  const found = await stat(folder).catch(() => undefined);
  if (found ? found.isDirectory() : mayBeNew) return;
  const problem = found ? 'is not a folder' : 'does not exist';
  throw new CommandError('INPUT_UNUSABLE', [`${shown} ${problem}. Name a folder with ${flag}.`]);
}

function explain(error: unknown, name: string): unknown {
  if (error instanceof ScheduleTakenError) {
    const problem = `${error.message} Choose another with --name, or remove it first: fileconv schedule delete ${name}`;
    return new CommandError('INPUT_UNUSABLE', [problem], { cause: error });
  }
  if (!(error instanceof InvalidRequestError)) return error;
  return new CommandError('USAGE', [`${error.message}. See: fileconv schedule create --help`], { cause: error });
}

function usage(problem: string): CommandError {
  return new CommandError('USAGE', [`${problem} See: fileconv schedule create --help`]);
}
