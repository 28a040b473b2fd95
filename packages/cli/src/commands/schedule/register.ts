import { InvalidArgumentError, Option } from 'commander';
import type { Command } from 'commander';
import type { CommandTools, CommonOptions } from '../../command-context';
import { parseDurationMs } from '../../config/duration';
import { collect, formatName, pointInTime } from '../arguments';
import type { CreateFlags } from './create';

/** Builds `fileconv schedule ...`; what the commands do is loaded only when one runs. */
export function addSchedule(program: Command, tools: CommandTools): void {
  const { examples } = tools;
  const schedule = program
    .command('schedule')
    .description('convert what is new or changed in a folder, again and again')
    .addHelpText(
      'after',
      examples('fileconv schedule create --every 1h --from letters --to pdf --out converted', 'fileconv schedule list'),
    );
  addCreate(schedule, tools);
  addControls(schedule, tools);
}

function addCreate(schedule: Command, { common, examples, run }: CommandTools): void {
  common(schedule.command('create'))
    .description('let Temporal convert what is new or changed in a folder, at the times that are named')
    .option('--every <time>', 'interval of 10s or more, such as 15m or 1h', interval)
    .option('--cron <expression>', 'minute hour day month weekday, such as "0 6 * * 1-5"')
    .option('--time-zone <name>', 'of --cron, such as Europe/Berlin; default: UTC')
    .requiredOption('--from <dir>', 'folder whose files are converted')
    .requiredOption('--to <format>', 'target format', formatName)
    .requiredOption('--out <dir>', 'folder for the results, which mirror the folders of the sources')
    .option('--name <name>', 'of the schedule and of its batch; default: made of what is converted')
    .option('--recursive', 'look into the folders of the folder too')
    .option('--exclude <pattern>', 'leave out what fits; may be given more than once', collect, [])
    .addOption(
      new Option(
        '--overlap <what>',
        'when a run is due and the one before still runs: leave it out, let one wait, or cancel that one',
      )
        .choices(['skip', 'buffer', 'cancel'])
        .default('skip'),
    )
    .option('--settled <time>', 'leave files to the next run that changed within this time; default: 1m', duration)
    .addOption(
      new Option('--on-existing <what>', 'when a result exists that no run wrote (default: fail)').choices([
        'fail',
        'skip',
        'overwrite',
        'rename',
      ]),
    )
    .option('--app <name>', 'app profile; default: default_app of the configuration')
    .addHelpText(
      'after',
      examples(
        'fileconv schedule create --every 1h --from letters --to pdf --out converted --name letters',
        'fileconv schedule create --cron "0 6 * * 1-5" --time-zone Europe/Berlin --from in --to pdf --out out --recursive',
      ),
    )
    .action((options: CommonOptions & CreateFlags) =>
      run(options, async (context) => (await import('./create.js')).createSchedule(context, options)),
    );
}

function addControls(schedule: Command, { common, examples, run }: CommandTools): void {
  const named = (command: string, description: string) =>
    common(schedule.command(command)).description(description).argument('<name>', "the schedule's name");
  common(schedule.command('list'))
    .description('list the schedules with their last and next run')
    .addHelpText('after', examples('fileconv schedule list', 'fileconv schedule list --json'))
    .action((options: CommonOptions) =>
      run(options, async (context) => (await import('./control.js')).listSchedules(context)),
    );
  named('pause', 'begin no more runs until it is resumed; one that runs goes on')
    .option('--reason <text>', 'for whoever finds it paused', 'paused with fileconv schedule pause')
    .addHelpText('after', examples('fileconv schedule pause letters --reason "moving the archive"'))
    .action((name: string, options: CommonOptions & { reason: string }) =>
      run(options, async (context) => (await import('./control.js')).pauseSchedule(context, name, options.reason)),
    );
  named('resume', 'begin runs again after a pause')
    .addHelpText('after', examples('fileconv schedule resume letters'))
    .action((name: string, options: CommonOptions) =>
      run(options, async (context) => (await import('./control.js')).resumeSchedule(context, name)),
    );
  named('trigger', 'begin a run now, unless the overlap policy is against it')
    .addHelpText('after', examples('fileconv schedule trigger letters'))
    .action((name: string, options: CommonOptions) =>
      run(options, async (context) => (await import('./control.js')).triggerSchedule(context, name)),
    );
  named('backfill', 'make up for runs that were due in the past, for example while it was paused')
    .requiredOption('--since <time>', 'from when on: 24h or 7d ago, or an ISO time', pointInTime)
    .option('--until <time>', 'default: now', pointInTime)
    .addHelpText('after', examples('fileconv schedule backfill letters --since 24h'))
    .action((name: string, options: CommonOptions & { since: Date; until?: Date }) =>
      run(options, async (context) => (await import('./control.js')).backfillSchedule(context, name, options)),
    );
  named('delete', 'begin no more runs; what was converted stays, and one that runs goes on')
    .addHelpText('after', examples('fileconv schedule delete letters'))
    .action((name: string, options: CommonOptions) =>
      run(options, async (context) => (await import('./control.js')).deleteSchedule(context, name)),
    );
}

function duration(text: string): number {
  const ms = parseDurationMs(text);
  if (ms !== undefined && ms <= 12 * 3600_000) return ms;
  throw new InvalidArgumentError('It must be a time of at most 12h, such as 30s or 5m.');
}

function interval(text: string): number {
  const ms = parseDurationMs(text);
  if (ms !== undefined && ms >= 10_000 && ms % 1000 === 0) return ms;
  throw new InvalidArgumentError('It must be a time of 10s or more in whole seconds, such as 15m or 1h.');
}
