/** Command lines for the slow tests; `command-line.test.ts` checks that no command is missing. */

/** A line for each command. The batch `nightly` runs from the first line that starts it. */
export const linesToInterrupt = [
  'convert one.png --to gif',
  'batch run many --from png --to gif --out out --name nightly --window 1',
  'batch run many --to gif --out dry --dry-run',
  'batch status nightly',
  'batch watch nightly',
  'batch list',
  'batch report nightly',
  'batch retry nightly',
  'batch pause nightly',
  'batch resume nightly',
  'batch window nightly 2',
  'batch cancel nothing',
  'schedule create --every 1h --from many --to gif --out out --name hourly',
  'schedule list',
  'schedule pause hourly',
  'schedule resume hourly',
  'schedule trigger hourly',
  'schedule delete hourly',
  'job list',
  'job show nothing',
  'job watch nothing',
  'job cancel nothing',
  'job retry nothing',
  'namespace init',
  'app ready',
  'doctor',
  'formats',
  'formats png',
  'config show',
  'config allow',
  'service check',
  'service apps list',
  'service apps add guest',
  'service tasks list',
  'service credits show',
  'service credits set guest 5',
  'service credits add guest 5',
  'worker',
  'callbacks',
  'codec-server',
];

/** These start what they interrupt and have tests of their own, or need a stack that this console does not have. */
export const notInterrupted = /^(up|service|down|status|logs|open|init|completion|complete)$/;

const failed = 1;
const batchCouldNotRun = 3;

/** A line for each command that needs Temporal. */
export const needsTemporal: [line: string, code: number][] = [
  ['convert in/a.md --to html', failed],
  ['app ready', failed],
  ['batch run in --to html --out out', batchCouldNotRun],
  ['batch status x', batchCouldNotRun],
  ['batch watch x', batchCouldNotRun],
  ['batch list', batchCouldNotRun],
  ['batch report x', batchCouldNotRun],
  ['batch pause x', batchCouldNotRun],
  ['batch resume x', batchCouldNotRun],
  ['batch window x 5', batchCouldNotRun],
  ['batch cancel x', batchCouldNotRun],
  ['schedule create --every 1h --from in --to html --out out', failed],
  ['schedule list', failed],
  ['schedule pause x', failed],
  ['schedule resume x', failed],
  ['schedule trigger x', failed],
  ['schedule delete x', failed],
  ['job list', failed],
  ['job show x', failed],
  ['job watch x', failed],
  ['job cancel x', failed],
  ['job retry x', failed],
  ['namespace init', failed],
  ['open x', failed],
  ['doctor', failed],
];

/** These start Temporal and wait for it, work without it, or have tests of their own: `worker` and `batch retry`. */
export const needsNoTemporal =
  /^(up|down|status|logs|init|completion|complete|worker|batch retry|callbacks|codec-server|formats|service( .*)?|config .*)$/;
