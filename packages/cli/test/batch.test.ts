import { existsSync } from 'node:fs';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { convertedPictures, folderWithPictures, writePicture } from './batch-pictures';
import { fileconv, linesOf, newFolder, parseJson, removeFolders, startFileconv } from './fileconv';
import { hasScript, onScreen, screenOf } from './pseudo-terminal';
import { startStack, type RunningStack } from './running-stack';
import { noisyPng } from './samples';

let stack: RunningStack;
beforeAll(async () => {
  stack = await startStack({ FILECONV_CALLBACKS_EMBEDDED: 'off' });
});
afterAll(async () => {
  await stack.stop();
  await removeFolders();
});

const batch = (cwd: string, ...args: string[]) => fileconv(['batch', ...args], { cwd, env: stack.env });
const toGif = (name: string) => ['in', '--to', 'gif', '--out', 'out', '--name', name];
const onTerminal = hasScript ? it : it.skip;

/** A batch of four whose files take at least `each`, one at a time, paused while the first is in flight. */
async function pausedBatch(name: string, each = '10 seconds') {
  const cwd = await folderWithPictures(4);
  const env = { ...stack.env, FILECONV_POLICIES_FIRST_CHECK_AFTER: each };
  const command = startFileconv(['batch', 'run', ...toGif(name), '--window', '1'], { cwd, env });
  await command.until(/4 files to convert/);
  const paused = await batch(cwd, 'pause', name);
  expect(paused).toMatchObject({ code: 0, stderr: '' });
  expect(paused.stdout).toBe(`Batch ${name} starts no more jobs. Continue: fileconv batch resume ${name}\n`);
  return { cwd, command };
}

describe('batch run --dry-run', () => {
  it('tells what would be done, and does nothing', async () => {
    const cwd = await folderWithPictures(3);
    await mkdir(path.join(cwd, 'out'));
    await writeFile(path.join(cwd, 'out/p002.gif'), 'mine');
    const ended = await batch(cwd, 'run', ...toGif('dry'), '--dry-run');
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(linesOf(ended.stdout)).toEqual([
      expect.stringMatching(/^Batch dry: 3 files to convert \(\d+ B\)\.$/),
      expect.stringMatching(/^FROM +TO +FILES +SIZE$/),
      expect.stringMatching(/^png +gif +3 +\d+ B$/),
      '1 result that no run of this batch wrote, there already: these would fail (--on-existing).',
      expect.stringContaining(path.join(cwd, 'out/p002.gif')),
      'vCredits: not known; the service tells the price of a conversion only with its result.',
      'Nothing was done (--dry-run).',
    ]);
    expect(existsSync(path.join(cwd, 'out/p001.gif'))).toBe(false);
    expect((await batch(cwd, 'status', 'dry')).code).toBe(2);
  });

  it('is one document with --json', async () => {
    const cwd = await folderWithPictures(3);
    const ended = await batch(cwd, 'run', ...toGif('dry'), '--dry-run', '--json');
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(parseJson(ended.stdout)).toMatchObject({
      batch: 'dry',
      rows: 3,
      done: 0,
      todo: 3,
      formats: [{ input: 'png', output: 'gif', rows: 3 }],
      existing: { count: 0 },
      vcredits: null,
    });
  });
});

describe('a batch under way', () => {
  it('starts nothing while it is paused, tells where it stands, and continues with another window', async () => {
    const { cwd, command } = await pausedBatch('pausing');
    await convertedPictures(cwd, { total: 4, wanted: 1 });
    let state: unknown;
    do state = parseJson((await batch(cwd, 'status', 'pausing', '--json')).stdout);
    while (JSON.stringify(state).includes('"inFlight":1'));
    expect(state).toMatchObject({ batch: 'pausing', status: 'paused', succeeded: 1, inFlight: 0, waiting: 3 });
    expect((await batch(cwd, 'status', 'pausing')).stdout).toBe(
      'Batch pausing: paused. 1 of 4, paused.\n  It waits for somebody who resumes it. Continue: fileconv batch resume pausing\n',
    );
    expect((await batch(cwd, 'list')).stdout).toMatch(/^pausing +running +\d{4}-/m);
    const early = await batch(cwd, 'report', 'pausing');
    expect(early).toMatchObject({ code: 2, stdout: '' });
    expect(early.stderr).toContain('Watch it: fileconv batch watch pausing');

    expect((await batch(cwd, 'window', 'pausing', '3')).stdout).toContain('up to 3 jobs in flight');
    expect(parseJson((await batch(cwd, 'status', 'pausing', '--json')).stdout)).toMatchObject({ window: 3 });
    expect(parseJson((await batch(cwd, 'resume', 'pausing', '--json')).stdout)).toMatchObject({ batch: 'pausing' });
    const ended = await command.ended;
    expect(ended.code).toBe(0);
    expect(linesOf(ended.stdout)[0]).toBe('All 4 files are converted.');
    const late = await batch(cwd, 'pause', 'pausing');
    expect(late).toMatchObject({ code: 2, stdout: '' });
    expect(late.stderr).toBe('error: Batch pausing has ended. See: fileconv batch report pausing\n');
  });

  it('that is cancelled stops the jobs in flight, and --finish lets them end', async () => {
    const stopped = await pausedBatch('cancelled', '1 hour');
    expect((await batch(stopped.cwd, 'cancel', 'cancelled')).code).toBe(0);
    const ended = await stopped.command.ended;
    expect(ended.code).toBe(1);
    expect(ended.stdout).toMatch(/^Cancelled; 4 of 4 files not converted\./);
    expect((await batch(stopped.cwd, 'status', 'cancelled')).stdout).toBe(
      'Batch cancelled: cancelled. 4 of 4, 4 not converted, cancelled.\n',
    );

    const finished = await pausedBatch('finished');
    expect((await batch(finished.cwd, 'cancel', 'finished', '--finish')).code).toBe(0);
    const last = await finished.command.ended;
    expect(last.code).toBe(1);
    expect(last.stdout).toMatch(/^Cancelled; 3 of 4 files not converted\./);
    const again = await batch(finished.cwd, 'run', ...toGif('finished'));
    expect(again).toMatchObject({ code: 0, stderr: 'Batch finished: 3 files to convert, 1 file done before.\n' });
  });

  it('says which flags it takes no notice of while it runs, and keeps what it was started with for a retry', async () => {
    const { cwd, command } = await pausedBatch('unheeded', '1 hour');
    const join = async (...args: string[]) => {
      const joining = startFileconv(['batch', ...args], { cwd, env: stack.env });
      await joining.until(/is running already/);
      joining.child.kill('SIGINT');
      return linesOf((await joining.ended).stderr).slice(1, -1);
    };
    const run = ['run', ...toGif('unheeded'), '--window'];
    const unheeded = (flags: string, now: string) =>
      `It continues as it was started: ${flags} only for what is left to do afterwards, while this command watches. To have that now: fileconv batch ${now}`;
    const cancel = 'cancel unheeded --finish, and then this command again';
    expect(await join('retry', 'unheeded', '--resubmit')).toEqual([unheeded('--resubmit holds', cancel)]);
    expect(await join(...run, '9')).toEqual([unheeded('--window holds', 'window unheeded 9')]);
    expect(await join(...run, '1')).toEqual([]);
    const more = [...run, '1', '--mode', 'sync', '--stop-after', '5%', '--on-unknown-outcome', 'fail'];
    expect(await join(...more)).toEqual([unheeded('--mode, --stop-after, --on-unknown-outcome hold', cancel)]);
    expect(await join(...run, '1')).toEqual([]);

    expect((await batch(cwd, 'cancel', 'unheeded')).code).toBe(0);
    expect((await command.ended).code).toBe(1);
  });

  it('that somebody terminates ends each command that asks for it with 3 and what to type, which does the rest', async () => {
    const { cwd, command } = await pausedBatch('terminated', '4 seconds');
    const connection = await Connection.connect({ address: stack.record.temporal.address });
    await new Client({ connection }).workflow.getHandle('terminated').terminate('by hand');
    await connection.close();
    const says =
      'error: batch terminated: ended without a result: by hand. Jobs in flight continue. What is left is done by: fileconv batch retry terminated';
    const looks = [
      batch(cwd, 'watch', 'terminated'),
      batch(cwd, 'status', 'terminated'),
      batch(cwd, 'report', 'terminated'),
    ];
    for (const ended of [await command.ended, ...(await Promise.all(looks))]) {
      expect([ended.code, linesOf(ended.stderr).at(-1)]).toEqual([3, says]);
    }
    expect(await batch(cwd, 'retry', 'terminated')).toMatchObject({ code: 0 });
    expect(await convertedPictures(cwd, { total: 4, wanted: 4 })).toHaveLength(4);
  });

  it('can be watched and left again: Ctrl-C ends the watching with 130, and the end of the batch with its exit code', async () => {
    const { cwd, command } = await pausedBatch('watched');
    command.child.kill('SIGINT');
    expect((await command.ended).code).toBe(130);
    const watching = startFileconv(['batch', 'watch', 'watched'], { cwd, env: stack.env });
    await watching.until(/Watching batch watched\./);
    watching.child.kill('SIGINT');
    const left = await watching.ended;
    expect(left).toMatchObject({ code: 130, stdout: '' });
    expect(linesOf(left.stderr).at(-1)).toBe(
      'Detached from batch watched. It continues without this command. Come back: fileconv batch watch watched',
    );

    const toTheEnd = startFileconv(['batch', 'watch', 'watched', '--json'], {
      cwd,
      env: stack.env,
      timeoutMs: 110_000,
    });
    expect((await batch(cwd, 'window', 'watched', '4')).code).toBe(0);
    expect((await batch(cwd, 'resume', 'watched')).code).toBe(0);
    const ended = await toTheEnd.ended;
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(parseJson(ended.stdout)).toMatchObject({ batch: 'watched', counts: { succeeded: 4 } });
    const env = { ...stack.env, FILECONV_TEMPORAL_UI_URL: 'https://temporal.example.com' };
    const report = await fileconv(['batch', 'report', 'watched', '--json'], { cwd, env });
    expect(parseJson(report.stdout)).toMatchObject({
      batch: 'watched',
      counts: { items: 4, succeeded: 4 },
      links: { batch: 'https://temporal.example.com/namespaces/default/workflows/watched' },
    });
  });
});

it('--runs names another folder for the runs, which a retry in any folder finds again', async () => {
  const cwd = await folderWithPictures(3);
  await writeFile(path.join(cwd, 'in/p002.png'), '');
  const ran = await batch(cwd, 'run', ...toGif('kept elsewhere'), '--runs', 'my runs');
  expect(ran.code).toBe(1);
  const folder = path.join(cwd, 'my runs', 'kept elsewhere');
  expect(linesOf(ran.stdout)).toContain(`Report: ${folder}/run-0001/report.html`);
  expect(existsSync(path.join(stack.stateDir, 'batches', 'kept elsewhere'))).toBe(false);
  await writePicture(cwd, 2);
  const retried = await batch(await newFolder(), 'retry', 'kept elsewhere');
  expect(retried.code).toBe(0);
  expect(linesOf(retried.stdout)[0]).toBe(
    'All 3 files are done. 1 converted; 2 skipped: their results are there already.',
  );
});

it('--stop-after starts no more jobs after so many failures, and the rest is not tried', async () => {
  const cwd = await folderWithPictures(6);
  for (const n of [1, 2]) await writeFile(path.join(cwd, `in/p00${n}.png`), noisyPng(8).subarray(0, 60));
  const ended = await batch(cwd, 'run', ...toGif('stopped'), '--window', '1', '--stop-after', '1', '--json');
  expect(ended.code).toBe(1);
  expect(parseJson(ended.stdout)).toMatchObject({
    status: 'stopped',
    counts: { items: 6, succeeded: 0, failed: 1, cancelled: 5 },
    failures: [{ code: 'FAILED_CONVERT', count: 1 }],
  });
});

it.each([
  ['fail', 1, 'mine'],
  ['skip', 0, 'mine'],
  ['overwrite', 0, 'GIF8'],
  ['rename', 0, 'mine'],
])('--on-existing %s decides about a file that no run wrote', async (what, code, kept) => {
  const cwd = await folderWithPictures(1);
  await mkdir(path.join(cwd, 'out'));
  await writeFile(path.join(cwd, 'out/p001.gif'), 'mine');
  const ended = await batch(cwd, 'run', ...toGif(`existing-${what}`), '--on-existing', what);
  expect(ended.code).toBe(code);
  expect((await readFile(path.join(cwd, 'out/p001.gif'), 'latin1')).slice(0, 4)).toBe(kept);
  expect(existsSync(path.join(cwd, 'out/p001 (1).gif'))).toBe(what === 'rename');
});

describe('exit codes', () => {
  it('a configuration file that is missing or broken: 2, and what to do', async () => {
    const cwd = await newFolder();
    await writeFile(path.join(cwd, 'bad.toml'), 'app = [');
    for (const file of ['bad.toml', 'none.toml']) {
      const ended = await batch(cwd, 'list', '--config', file);
      expect(ended).toMatchObject({ code: 2, stdout: '' });
      expect(linesOf(ended.stderr)).toEqual([
        expect.stringMatching(/; correct (that line, or name|its path in --config or)/),
      ]);
    }
  });

  it.each([
    ['status', 'none'],
    ['watch', 'none'],
    ['pause', 'none'],
    ['resume', 'none'],
    ['window', 'none', '5'],
    ['cancel', 'none'],
    ['report', 'none'],
    ['retry', 'none'],
  ])('%s of a batch that there is none of: 2, and which there are', async (...args) => {
    const ended = await batch(await newFolder(), ...args);
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).toMatch(/^error: There is no batch none\b.*fileconv batch list\n$/);
  });

  it.each(['../x', 'a/b', '.hidden', 'x'.repeat(101)])('%j can be no name: 2', async (name) => {
    const cwd = await folderWithPictures(1);
    const answers = [await batch(cwd, 'status', name), await batch(cwd, 'run', ...toGif(name))];
    for (const ended of answers) {
      expect(ended).toMatchObject({ code: 2, stdout: '' });
      expect(linesOf(ended.stderr)).toEqual([expect.stringContaining("can't be the name of a batch")]);
    }
  });

  it('nothing to convert: 2, and what was left out', async () => {
    const cwd = await newFolder();
    await mkdir(path.join(cwd, 'in'));
    await symlink('nowhere', path.join(cwd, 'in/link.md'));
    await writeFile(path.join(cwd, 'in/two\nlines.md'), 'a');
    const ended = await batch(cwd, 'run', 'in', '--to', 'html');
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(linesOf(ended.stderr)).toEqual([
      'warning: in/link.md is a symbolic link that leads nowhere. It is left out.',
      String.raw`warning: in/two\x0alines.md has a control character in its name; rename it. It is left out.`,
      'warning: in holds no files to convert. To look into its folders too, add --recursive.',
      'error: There are no files to convert. Check the names, and what --exclude leaves out.',
    ]);
    await writeFile(path.join(cwd, 'in/noext'), 'a');
    expect((await batch(cwd, 'run', 'in', '--to', 'html')).stderr).toContain(
      "error: 1 file (noext) can't be converted: by the extension of its name",
    );
  });

  it.each([['status', 'x'], ['watch', 'x'], ['list'], ['pause', 'x'], ['report', 'x']])(
    'no stack runs: %s ends with 3 and says how to start one',
    async (...args) => {
      const ended = await fileconv(['batch', ...args, '--json'], { cwd: await newFolder() });
      expect(ended.code).toBe(3);
      expect(linesOf(ended.stderr)).toEqual([expect.stringMatching(/^error: No stack runs in .*fileconv up/)]);
      expect(parseJson(ended.stdout)).toMatchObject({ error: { code: 'TEMPORAL_UNREACHABLE' } });
    },
  );

  it('Ctrl-C before anything was started: 130, and no run is left behind', async () => {
    const cwd = await folderWithPictures(1);
    const command = startFileconv(['batch', 'run', ...toGif('early')], { cwd });
    await command.until(/starting one for this command/);
    command.child.kill('SIGINT');
    const ended = await command.ended;
    expect(ended).toMatchObject({ code: 130, stdout: '' });
    expect(linesOf(ended.stderr).at(-1)).toBe('error: Interrupted before any job was started.');
    expect(existsSync(path.join(cwd, '.fileconv/batches/early/run-0001'))).toBe(false);
  });
});

onTerminal('on a terminal a bar shows the progress, and goes when the batch has ended', async () => {
  const cwd = await folderWithPictures(4);
  const env = { ...stack.env, FILECONV_POLICIES_FIRST_CHECK_AFTER: '2 seconds' };
  const { raw, code } = await onScreen(['batch', 'run', ...toGif('bar'), '--window', '2'], { cwd, env });
  expect(code).toBe(0);
  expect(raw).toMatch(/\[█*░+\] \d of 4, \d in flight/);
  const screen = screenOf(raw);
  expect(screen[0]).toBe('Batch bar: 4 files to convert.');
  expect(screen[1]).toBe('All 4 files are converted.');
  expect(screen.join('\n')).not.toMatch(/[█░]/);
});
