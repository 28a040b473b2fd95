import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { quickPolicies, type ConversionRig } from '../../../test/support/conversion-worker';
import { answerOutput } from '../../../test/support/stub-service';
import { until } from '../../../test/support/until';
import { convertedPictures, folderWithPictures, writePicture } from './batch-pictures';
import { fileconv, linesOf, parseJson, startFileconv } from './fileconv';
import { envOfRig, startRigOfCommands } from './running-stack';

/** `fileconv batch` on a running batch: the service ends no conversion before `release`. */

let rig: ConversionRig;
let release: () => void;

beforeEach(async () => {
  rig = await startRigOfCommands();
  let isHeld = true;
  release = () => (isHeld = false);
  rig.stub.on('task/response', (seen, response) => {
    if (!isHeld) rig.stub.answerAsAlways(seen, response);
    else answerOutput(response, { entity: { id: seen.connector, status: 'running' }, result: {} });
  });
});
afterEach(() => rig.close());

const env = () => ({ ...envOfRig(rig), FILECONV_POLICIES_MAX_CHECK_INTERVAL: `${quickPolicies.maxCheckInterval} ms` });
const batch = (cwd: string, ...args: string[]) => fileconv(['batch', ...args], { cwd, env: env() });
const toGif = (name: string) => ['in', '--to', 'gif', '--out', 'out', '--name', name];

/** A batch of four with window 1, paused while the first conversion is in flight. */
async function pausedBatch(name: string) {
  const cwd = await folderWithPictures(4);
  const before = rig.stub.count('convert/file');
  const command = startFileconv(['batch', 'run', ...toGif(name), '--window', '1'], { cwd, env: env() });
  await until('the first is in flight', () => rig.stub.count('convert/file') > before);
  const paused = await batch(cwd, 'pause', name);
  expect(paused).toMatchObject({ code: 0, stderr: '' });
  expect(paused.stdout).toBe(`Batch ${name} starts no more jobs. Continue: fileconv batch resume ${name}\n`);
  return { cwd, command };
}

it('starts nothing while it is paused, shows its progress, and continues with a new window', async () => {
  const { cwd, command } = await pausedBatch('pausing');
  release();
  await convertedPictures(cwd, { total: 4, wanted: 1 });
  let state: unknown;
  do state = parseJson((await batch(cwd, 'status', 'pausing', '--json')).stdout);
  while (JSON.stringify(state).includes('"inFlight":1'));
  expect(state).toMatchObject({ batch: 'pausing', status: 'paused', succeeded: 1, inFlight: 0, waiting: 3 });
  expect((await batch(cwd, 'status', 'pausing')).stdout).toBe(
    'Batch pausing: paused. 1 of 4, 1 vCredit.\n  It is waiting for someone to resume it. Continue: fileconv batch resume pausing\n',
  );
  expect((await batch(cwd, 'list')).stdout).toMatch(/^pausing +running +\d{4}-/m);
  const page = path.join(cwd, '.fileconv/batches/pausing/run-0001/report.html');
  const told = 'Batch pausing: paused. 1 of 4, 1 vCredit.';
  expect(await batch(cwd, 'report', 'pausing')).toMatchObject({
    code: 0,
    stdout: `${told}\nIts report is written for the first time when it has run for a while: ${page}\n`,
  });
  await writeFile(page, 'so far');
  expect((await batch(cwd, 'report', 'pausing')).stdout).toBe(`${told}\nReport so far: ${page}\n`);
  const opened = await fileconv(['open', 'pausing', '--json'], { cwd, env: env() });
  expect(parseJson(opened.stdout)).toEqual({ page: pathToFileURL(page).href });

  expect((await batch(cwd, 'window', 'pausing', '3')).stdout).toContain('up to 3 jobs in flight');
  expect(parseJson((await batch(cwd, 'status', 'pausing', '--json')).stdout)).toMatchObject({ window: 3 });
  expect(parseJson((await batch(cwd, 'resume', 'pausing', '--json')).stdout)).toMatchObject({ batch: 'pausing' });
  const ended = await command.ended;
  expect([ended.code, linesOf(ended.stdout)[0]]).toEqual([0, 'All 4 files are converted.']);
  const late = await batch(cwd, 'pause', 'pausing');
  expect(late).toMatchObject({ code: 2, stdout: '' });
  expect(late.stderr).toBe('error: Batch pausing has ended. See: fileconv batch report pausing\n');
});

it('cancels the jobs in flight, or lets them end with --finish', async () => {
  const stopped = await pausedBatch('cancelled');
  expect((await batch(stopped.cwd, 'cancel', 'cancelled')).code).toBe(0);
  const ended = await stopped.command.ended;
  expect(ended.code).toBe(1);
  expect(ended.stdout).toMatch(/^Cancelled; 4 of 4 files not converted\./);
  expect((await batch(stopped.cwd, 'status', 'cancelled')).stdout).toBe(
    'Batch cancelled: cancelled. 4 of 4, 4 not converted.\n',
  );
  await until('it is listed as it ended', async () =>
    /^cancelled +cancelled +4 +0 +\d{4}-/m.test((await batch(stopped.cwd, 'list')).stdout),
  );

  const finished = await pausedBatch('finished');
  expect((await batch(finished.cwd, 'cancel', 'finished', '--finish')).code).toBe(0);
  release();
  const last = await finished.command.ended;
  expect(last.code).toBe(1);
  expect(last.stdout).toMatch(/^Cancelled; 3 of 4 files not converted\./);
  const again = await batch(finished.cwd, 'run', ...toGif('finished'));
  expect([again.code, linesOf(again.stderr)[0]]).toEqual([
    0,
    'Batch finished: 3 files to convert, 1 file done before.',
  ]);
});

it('starts only one further run when several commands wait for the batch, and all wait for that run', async () => {
  const { cwd, command } = await pausedBatch('awaited');
  const waiting = [1, 2].map(() => startFileconv(['batch', 'run', ...toGif('awaited')], { cwd, env: env() }));
  for (const each of waiting) await each.until(/Batch awaited is already running/);
  await writePicture(cwd, 1, 1);
  release();
  expect((await batch(cwd, 'resume', 'awaited')).code).toBe(0);
  for (const each of [command, ...waiting]) expect((await each.ended).code).toBe(0);
  expect(rig.stub.count('convert/file')).toBe(5);
});

it('terminated by hand: every command ends with 3 and names `batch retry`, which converts the rest', async () => {
  const { cwd, command } = await pausedBatch('terminated');
  await rig.temporal.workflow.getHandle('terminated').terminate('by hand');
  const says =
    'error: batch terminated: ended without a result: by hand. Jobs in flight continue. To do what is left: fileconv batch retry terminated';
  const looks = [
    batch(cwd, 'watch', 'terminated'),
    batch(cwd, 'status', 'terminated'),
    batch(cwd, 'report', 'terminated'),
  ];
  for (const ended of [await command.ended, ...(await Promise.all(looks))]) {
    expect([ended.code, linesOf(ended.stderr).at(-1)]).toEqual([3, says]);
  }
  release();
  expect(await batch(cwd, 'retry', 'terminated')).toMatchObject({ code: 0 });
  expect(await convertedPictures(cwd, { total: 4, wanted: 4 })).toHaveLength(4);
});

it('can be watched: Ctrl-C exits with 130, the end of the batch with its exit code', async () => {
  const { cwd, command } = await pausedBatch('watched');
  expect((await command.end()).code).toBe(130);
  const watching = startFileconv(['batch', 'watch', 'watched'], { cwd, env: env() });
  await watching.until(/Watching batch watched\./);
  const left = await watching.end();
  expect(left).toMatchObject({ code: 130, stdout: '' });
  expect(linesOf(left.stderr).at(-1)).toBe(
    'Detached from batch watched. It continues without this command. Come back: fileconv batch watch watched',
  );

  const toTheEnd = startFileconv(['batch', 'watch', 'watched', '--json'], { cwd, env: env() });
  expect((await batch(cwd, 'window', 'watched', '4')).code).toBe(0);
  expect((await batch(cwd, 'resume', 'watched')).code).toBe(0);
  release();
  const ended = await toTheEnd.ended;
  expect(ended).toMatchObject({ code: 0, stderr: '' });
  expect(parseJson(ended.stdout)).toMatchObject({ batch: 'watched', counts: { succeeded: 4 } });
  const withUi = { ...env(), FILECONV_TEMPORAL_UI_URL: 'https://temporal.example.com' };
  const report = await fileconv(['batch', 'report', 'watched', '--json'], { cwd, env: withUi });
  expect(parseJson(report.stdout)).toMatchObject({
    batch: 'watched',
    counts: { items: 4, succeeded: 4 },
    links: { batch: 'https://temporal.example.com/namespaces/default/workflows/watched' },
  });
});
