import {
  InvalidRequestError,
  ScheduleTakenError,
  type SweepOverlap,
  SweepSchedules,
  type SweepTimes,
} from 'temporal-file-conversion/client';
import { defined } from 'temporal-file-conversion/job';
import { shellWord } from 'temporal-file-conversion/messages';
import { batchFolder, folderUri, requireFolder } from '../../batch/batch-folder';
import { checkName, defaultName, type RunFlags } from '../../batch/settings';
import { makeStateFolders } from '../../allowed';
import type { CommandContext } from '../../command-context';
import { CommandError, explaining } from '../../command-error';
import { chosenPolicies } from '../../config/load-config';
import { settleFormat } from '../../formats/formats';
import { isEncrypting } from '../../keys/secrets';
import { withTemporal } from '../../stack/open-temporal';

type OfBatch = 'param' | 'template' | 'runs' | 'name' | 'recursive' | 'exclude' | 'check' | 'onExisting' | 'app';

export interface CreateFlags extends Pick<RunFlags, OfBatch | 'unconvertible' | 'maxVcredits' | 'notify'> {
  /** Milliseconds. */
  every?: number;
  cron?: string;
  timeZone?: string;
  from: string;
  to: string;
  out: string;
  overlap: SweepOverlap;
  /** A folder as typed; false or absent: sources stay. */
  whenDone?: string | false;
  whenFailed?: string | false;
  /** Milliseconds. */
  settled?: number;
}

export async function createSchedule(context: CommandContext, flags: CreateFlags): Promise<void> {
  const { config, cwd, output } = context;
  const times = timesOf(flags);
  const [from, out] = [folderUri(context, flags.from), folderUri(context, flags.out)];
  await requireFolder(context, { typed: flags.from, flag: '--from' });
  const { whenDone, whenFailed } = flags;
  const made = { '--out': flags.out, '--runs': flags.runs, '--when-done': whenDone, '--when-failed': whenFailed };
  for (const [flag, typed] of Object.entries(made)) await requireFolder(context, { typed, flag, mayBeNew: true });
  const name = flags.name ?? defaultName([flags.from], { cwd, to: [flags.to], out, isHidden: isEncrypting(context) });
  checkName(name);
  const typed = shellWord(name);
  const app = flags.app ?? config.values.defaultApp;
  const extension = await settleFormat(context, app, { to: flags.to });
  // Sweeps write their reports into the state folder.
  await makeStateFolders(context);
  return withTemporal(context, async ({ client, taskQueue, uiUrl }) => {
    const request = defined({
      name,
      times,
      from,
      to: flags.to,
      parameters: flags.param,
      out,
      template: flags.template,
      extension,
      batchFolder: batchFolder(context, name, { runs: flags.runs, out, sources: [from] }),
      recursive: flags.recursive === true,
      exclude: flags.exclude,
      settledForMs: flags.settled,
      moveDoneTo: whenDone ? folderUri(context, whenDone) : undefined,
      moveFailedTo: whenFailed ? folderUri(context, whenFailed) : undefined,
      unconvertible: flags.unconvertible ?? config.values.policies.unconvertible,
      maxVcredits: flags.maxVcredits,
      overlap: flags.overlap,
      notify: flags.notify,
      onExisting: flags.onExisting ?? config.values.policies.onExisting,
      ...chosenPolicies(config, flags),
      uiUrl,
    });
    const taken = ({ message }: ScheduleTakenError) =>
      `${message} Choose another with --name, or remove it first: fileconv schedule delete ${typed}`;
    await new SweepSchedules({ client, taskQueue, app })
      .create(request)
      .catch(explaining(ScheduleTakenError, 'INPUT_UNUSABLE', taken))
      .catch(
        explaining(
          InvalidRequestError,
          'USAGE',
          ({ message }) => `${inFlags(message).replace(/[.?]?$/, (end) => end || '.')} ${seeHelp}`,
        ),
      );
    output.result(
      { schedule: name, created: true },
      `Schedule ${name} converts what is new or changed in ${flags.from} to ${flags.to}.`,
    );
    output.say(`A first run now: fileconv schedule trigger ${typed}. How a run goes: fileconv batch status ${typed}`);
  });
}

/** Replaces field names of the client with our flags. */
function inFlags(message: string): string {
  return message
    .replace('moveDoneTo:', '--when-done')
    .replace('moveFailedTo:', '--when-failed')
    .replace('times:', '--cron:');
}

function timesOf({ every, cron, timeZone }: CreateFlags): SweepTimes {
  if ((every === undefined) === (cron === undefined)) {
    throw usage('name either --every or --cron, for example --every 1h.');
  }
  if (cron !== undefined) return { cron, ...(timeZone !== undefined && { timeZone }) };
  if (timeZone !== undefined) throw usage('--time-zone is for --cron.');
  return { everyMs: every ?? 0 };
}

const seeHelp = 'See: fileconv schedule create --help';

function usage(problem: string): CommandError {
  return new CommandError('USAGE', [`${problem} ${seeHelp}`]);
}
