import { InvalidArgumentError, Option, type Command } from 'commander';
import { parseDurationMs } from '../../config/duration';
import {
  type Act,
  appOption,
  command,
  excludeOption,
  formatName,
  group,
  maxVcreditsOption,
  notifyOption,
  once,
  policyOptions,
  onExistingOption,
  parameterOption,
  recursiveOption,
  runsOption,
  templateOption,
  unconvertibleOption,
} from '../arguments';

export function addSchedule(program: Command, act: Act): void {
  const schedule = group(program, 'schedule', 'convert new and changed files of a folder, again and again');
  const named = (name: string, description: string, ...lines: string[]) =>
    command(schedule, name, description, ...lines).argument('<name>', "the schedule's name");

  command(
    schedule,
    'create',
    'convert new and changed files of a folder at set times',
    'fileconv schedule create --every 1h --from letters --to pdf --out converted --name letters',
    'fileconv schedule create --every 5m --from in --to pdf --out out --when-done move:done --when-failed move:failed',
    'fileconv schedule create --cron "0 6 * * 1-5" --time-zone Europe/Berlin --from in --to pdf --out out --recursive',
  )
    .option('--every <time>', 'interval of 10s or more, such as 15m or 1h', interval)
    .option('--cron <expression>', 'minute hour day month weekday, such as "0 6 * * 1-5"')
    .option('--time-zone <name>', 'time zone of --cron; default: UTC')
    .requiredOption('--from <dir>', 'folder whose files are converted', once)
    .requiredOption('--to <format>', 'target format', (text, before?: string) => formatName(once(text, before)))
    .addOption(parameterOption)
    .requiredOption('--out <dir>', 'folder for the results')
    .option(...templateOption)
    .option(...runsOption)
    .option('--name <name>', 'name; default: made from the arguments')
    .option(...recursiveOption)
    .addOption(excludeOption)
    .addOption(
      new Option('--overlap <what>', 'if the previous run is still running')
        .choices(['skip', 'buffer', 'cancel'])
        .default('skip'),
    )
    .option('--settled <time>', 'skip files changed within this time; default: 1m', duration)
    .option('--when-done <what>', 'move:DIR: where sources go once converted; else keep', movedTo)
    .option('--when-failed <what>', 'move:DIR: where sources go that failed; else keep', movedTo)
    .addOption(onExistingOption('results not written by a run'))
    .addOption(policyOptions.check)
    .option(...maxVcreditsOption)
    .addOption(unconvertibleOption)
    .addOption(notifyOption)
    .option(...appOption)
    .action(act(async () => (await import('./create.js')).createSchedule));
  command(schedule, 'list', 'list the schedules with their last and next run', 'fileconv schedule list').action(
    act(async () => (await import('./control.js')).listSchedules),
  );
  named(
    'pause',
    'stop starting runs; a run in progress continues',
    'fileconv schedule pause letters --reason "moving the archive"',
  )
    .option('--reason <text>', 'note for others, shown with the schedule', 'paused with fileconv schedule pause')
    .action(act(async () => (await import('./control.js')).pauseSchedule));
  named('resume', 'start runs again after a pause').action(
    act(async () => (await import('./control.js')).resumeSchedule),
  );
  named('trigger', 'start a run now, unless the overlap policy forbids it').action(
    act(async () => (await import('./control.js')).triggerSchedule),
  );
  named('delete', 'delete a schedule; results stay, and a run in progress continues').action(
    act(async () => (await import('./control.js')).deleteSchedule),
  );
}

function duration(text: string): number {
  const ms = parseDurationMs(text);
  if (ms !== undefined && ms <= 12 * 3600_000) return ms;
  throw new InvalidArgumentError('It must be a time of at most 12h, such as 30s or 5m.');
}

function movedTo(text: string): string | false {
  const [, folder = false] = /^move:(.+)$/s.exec(text) ?? [];
  // Returns false, because the parser would turn undefined into an empty text.
  if (folder !== false || text === 'keep') return folder;
  throw new InvalidArgumentError('It must be keep or move:DIR, such as move:done.');
}

function interval(text: string): number {
  const ms = parseDurationMs(text);
  if (ms !== undefined && ms >= 10_000 && ms % 1000 === 0) return ms;
  throw new InvalidArgumentError('It must be a time of 10s or more in whole seconds, such as 15m or 1h.');
}
