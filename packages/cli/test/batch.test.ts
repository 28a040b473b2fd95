import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { folderWithPictures, writePicture } from './batch-pictures';
import { fileconv, folderWith, linesOf, newFolder, parseJson, startFileconv } from './fileconv';
import { hasScript, onScreen, screenOf } from './pseudo-terminal';
import { sharedStackOfTests } from './running-stack';
import { noisyPng } from './samples';

const stack = sharedStackOfTests();

const batch = (cwd: string, ...args: string[]) => fileconv(['batch', ...args], { cwd, env: stack.env });
const toGif = (name: string) => ['in', '--to', 'gif', '--out', 'out', '--name', name];
const onTerminal = hasScript ? it : it.skip;

describe('batch run --dry-run', () => {
  it('prints the plan and changes nothing', async () => {
    const cwd = await folderWithPictures(3);
    await mkdir(path.join(cwd, 'out'));
    await writeFile(path.join(cwd, 'out/p002.gif'), 'mine');
    // A folder of runs for this test alone: the ledgers of other batches would give a price.
    const ended = await batch(cwd, 'run', ...toGif('dry'), '--runs', 'runs', '--dry-run');
    // The existing file would make one conversion fail.
    expect(ended).toMatchObject({ code: 1, stderr: '' });
    expect(linesOf(ended.stdout)).toEqual([
      expect.stringMatching(/^Batch dry: 3 files to convert \(\d+ B\)\.$/),
      expect.stringMatching(/^FROM +TO +FILES +SIZE$/),
      expect.stringMatching(/^png +gif +3 +\d+ B$/),
      '1 result that no run of this batch wrote, there already: these would fail, unless others made them from the same files (--on-existing).',
      expect.stringContaining(path.join(cwd, 'out/p002.gif')),
      'vCredits: not known; the service tells the price of a conversion only with its result.',
      'Nothing was done (--dry-run).',
    ]);
    expect(existsSync(path.join(cwd, 'out/p001.gif'))).toBe(false);
    expect((await batch(cwd, 'status', 'dry')).code).toBe(2);
  });

  it('prints one document with --json', async () => {
    const cwd = await folderWithPictures(3);
    const ended = await batch(cwd, 'run', ...toGif('dry'), '--runs', 'runs', '--dry-run', '--json');
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

  it('gives a batch of many formats a short name of its own', async () => {
    const cwd = await folderWithPictures(1);
    const ended = await batch(cwd, 'run', 'in', '--to', 'gif,jpg,webp,pdf', '--dry-run', '--json');
    expect(parseJson(ended.stdout)).toMatchObject({ batch: expect.stringMatching(/^in-4-formats-\w{6}$/) as string });
  });

  it.each([
    ['overwrite', 1],
    ['skip', 1],
    ['rename', 0],
  ])('with --on-existing %s exits like the run would where a folder stands at a destination', async (choice, code) => {
    const cwd = await folderWithPictures(2);
    await mkdir(path.join(cwd, 'out/p001.gif'), { recursive: true });
    const asked = ['run', ...toGif('folder'), '--runs', 'runs', '--on-existing', choice];
    const dry = await batch(cwd, ...asked, '--dry-run');
    const told = '1 of them is a folder: this would fail.';
    expect([dry.code, linesOf(dry.stdout).includes(told)]).toEqual([code, code === 1]);
    expect((await batch(cwd, ...asked)).code).toBe(code);
  });

  it('names results that are gone, as the run does', async () => {
    const cwd = await folderWithPictures(1);
    const asked = ['run', ...toGif('gone'), '--runs', 'runs'];
    expect((await batch(cwd, ...asked)).code).toBe(0);
    await rm(path.join(cwd, 'out/p001.gif'));
    const dry = await batch(cwd, ...asked, '--dry-run');
    expect(dry.stderr).toContain('p001.gif is not there any more');
    expect((await batch(cwd, ...asked)).stderr).toContain(dry.stderr);
    const status = await batch(cwd, 'status', 'gone');
    expect(linesOf(status.stdout)[1]).toMatch(/^ {2}1 result is gone\. .*: fileconv batch retry gone --again$/);
  });

  it('exits like the run would, also for a suspect result or when the vCredits are spent', async () => {
    const cwd = await folderWithPictures(1);
    const asked = [...toGif('dry'), '--runs', 'runs', '--on-existing', 'overwrite'];
    const run = (...args: string[]) => batch(cwd, 'run', ...asked, ...args);
    expect((await run()).code).toBe(0);
    const file = path.join(cwd, 'runs/dry/ledger.jsonl');
    const [, line = ''] = linesOf(await readFile(file, 'utf8'));
    const { delivered, ...row } = JSON.parse(line) as {
      delivered: { source: object; taskId: string; options: object };
    };
    const { source, taskId, options } = delivered;
    const outcome = { status: 'suspect', code: 'RESULT_SUSPECT', charge: 'yes' };
    const ledger = [
      { run: 1, vcredits: 9 },
      { ...row, status: 'suspect', unresolved: { charge: 'yes', taskId, source, options, suspect: true, outcome } },
    ];
    await writeFile(file, ledger.map((each) => `${JSON.stringify(each)}\n`).join(''));
    const suspect = await run('--dry-run');
    expect([suspect.code, linesOf(suspect.stdout)[0]]).toEqual([
      1,
      'Batch dry: 0 files to convert (0 B), 1 file will fail.',
    ]);
    expect(suspect.stdout).not.toContain('vCredits');
    await writeFile(path.join(cwd, 'in/p001.png'), noisyPng(8));
    expect((await run('--dry-run', '--max-vcredits', '10')).code).toBe(0);
    const spent = await run('--dry-run', '--max-vcredits', '9');
    expect([spent.code, linesOf(spent.stdout).at(-2)]).toEqual([
      1,
      'Of --max-vcredits, 9 are spent: nothing would be started.',
    ]);
    expect((await run('--max-vcredits', '9')).code).toBe(1);
  });
});

it('--quiet prints failures only', async () => {
  const cwd = await folderWithPictures(2);
  const run = () => batch(cwd, 'run', ...toGif('quiet'), '--quiet');
  await writeFile(path.join(cwd, 'in/p002.png'), noisyPng(8).subarray(0, 60));
  const failed = await run();
  expect(failed).toMatchObject({ code: 1, stdout: '' });
  expect(failed.stderr).toMatch(/^error: 1 of 2 files failed\. 1 converted\.\n/m);
  expect(failed.stderr).toContain(path.join(cwd, 'in/p002.png'));
  await writePicture(cwd, 2);
  expect(await run()).toMatchObject({ code: 0, stdout: '', stderr: '' });
});

it('--runs names another folder for the runs; a retry from any folder finds it, and does not repeat --again', async () => {
  const cwd = await folderWithPictures(3);
  await writeFile(path.join(cwd, 'in/p002.png'), '');
  const ran = await batch(cwd, 'run', ...toGif('kept elsewhere'), '--runs', 'my runs', '--again');
  expect(ran.code).toBe(1);
  const folder = path.join(cwd, 'my runs', 'kept elsewhere');
  expect(linesOf(ran.stdout)).toContain(`Report: ${folder}/run-0001/report.html`);
  expect(existsSync(path.join(stack.stateDir, 'batches', 'kept elsewhere'))).toBe(false);
  await writePicture(cwd, 2);
  await rm(path.join(cwd, 'out/p001.gif'));
  const retried = await batch(await newFolder(), 'retry', 'kept elsewhere');
  expect(retried.code).toBe(0);
  expect(linesOf(retried.stdout)[0]).toMatch(
    /^All 3 files are done\. 1 converted; 1 skipped: .*; 1 skipped: done before, and gone/,
  );
});

describe('a manifest without a valid row', () => {
  async function runManifest(rows: string, ...flags: string[]) {
    const cwd = await folderWith({ 'a.md': '# A\n', 'm.csv': `source,output,destination\n${rows}` });
    return batch(cwd, 'run', 'm.csv', '--name', 'wrong', ...flags);
  }

  it('gives a clear error, exit code 2 and no run', async () => {
    const ended = await runManifest('a.md,html,\n"b.md,html,\n');
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    const error = expect.stringMatching(/^error: m\.csv line 3: a quote .* never closed\./) as unknown;
    expect(linesOf(ended.stderr)).toContainEqual(error);
    expect(existsSync(path.join(stack.stateDir, 'batches/wrong/run-0001'))).toBe(false);
  });

  it('names every bad row, and with --json all in one document', async () => {
    const ended = await runManifest('a.md,,\n,html,\nb.md,html,../x\n', '--json', '--dry-run');
    expect([ended.code, linesOf(ended.stderr).length]).toEqual([2, 3]);
    const message: unknown = expect.stringMatching(/line 2, column output.*\n.*line 3, column source.*\n.*line 4/);
    expect(parseJson(ended.stdout)).toEqual({ error: { code: 'INPUT_UNUSABLE', message } });
  });
});

describe('files that cannot be converted do not stop the others', () => {
  it('fails bad manifest rows with their line numbers, converts the others and exits with 1', async () => {
    const cwd = await folderWithPictures(3);
    const rows = [
      'in/p001.png,gif,a.gif',
      'in/p002.png,gif,a.gif',
      'in/p003.png,gif,b.gif',
      ',gif,c.gif',
      'in/p003.png,gif,../d.gif',
    ];
    await writeFile(path.join(cwd, 'bad rows.csv'), ['source,output,destination', ...rows, ''].join('\n'));
    const dry = await batch(cwd, 'run', 'bad rows.csv', '--name', 'bad rows', '--dry-run');
    expect(dry.code).toBe(1);
    expect(linesOf(dry.stdout)[0]).toMatch(/^Batch bad rows: 1 file to convert \(\d+ B\), 4 files will fail\.$/);
    const ended = await batch(cwd, 'run', 'bad rows.csv', '--name', 'bad rows');
    expect(ended.code).toBe(1);
    const warned = linesOf(ended.stderr).filter((line) => line.startsWith('warning:'));
    expect(warned.map((line) => /line (\d)/.exec(line)?.[1])).toEqual(['2', '3', '5', '6']);
    expect(linesOf(ended.stderr)).toContain('Batch bad rows: 1 file to convert.');
    expect(linesOf(ended.stdout)[0]).toBe('4 of 5 files failed. 1 converted.');
    expect(ended.stdout).not.toContain('batch retry');
    expect([existsSync(path.join(cwd, 'a.gif')), existsSync(path.join(cwd, 'b.gif'))]).toEqual([false, true]);
    const again = await batch(cwd, 'run', 'bad rows.csv', '--name', 'bad rows', '--json');
    expect(again.code).toBe(1);
    expect(parseJson(again.stdout)).toMatchObject({
      counts: { items: 5, failed: 4, skipped: 1 },
      failures: [
        { code: 'DESTINATION_TAKEN', count: 2 },
        { code: 'DESTINATION_OUTSIDE', count: 1 },
        { code: 'ROW_INVALID', count: 1 },
      ],
    });
  });

  it('converts the rest when a file cannot be read; every command reports it, and the exit code is 1', async () => {
    const cwd = await folderWithPictures(1);
    await symlink('nowhere', path.join(cwd, 'in/lost.png'));
    const lost = 'in/lost.png is a symbolic link that leads nowhere. It is left out.';
    const leftOut = { count: 1, messages: [lost] };
    const run = () => batch(cwd, 'run', ...toGif('left out'), '--json');
    const dry = await batch(cwd, 'run', ...toGif('left out'), '--dry-run', '--json');
    expect(dry.code).toBe(1);
    expect(parseJson(dry.stdout)).toMatchObject({ todo: 1, leftOut: { unread: 1 } });
    const first = await run();
    expect(first.code).toBe(1);
    expect(parseJson(first.stdout)).toMatchObject({ counts: { succeeded: 1, failed: 0 }, leftOut });
    const again = await run();
    expect(again.code).toBe(1);
    expect(parseJson(again.stdout)).toMatchObject({ counts: { skipped: 1 }, leftOut, warnings: [lost] });
    expect(parseJson((await batch(cwd, 'status', 'left out', '--json')).stdout)).toMatchObject({
      planned: { leftOut: 1, warnings: [lost] },
    });
    expect((await batch(cwd, 'status', 'left out')).stdout).toContain(`    ${lost}\n`);
    const told = await batch(cwd, 'run', ...toGif('left out'));
    expect(linesOf(told.stdout).at(-1)).toBe("Left out, and not converted: 1 file or folder that can't be read.");
  });
});

it('batch report and open show the previous report when the last run had nothing to do', async () => {
  const cwd = await folderWithPictures(1);
  const run = () => batch(cwd, 'run', ...toGif('idle'));
  await run();
  expect((await run()).stdout).toBe('Batch idle: nothing to do, 1 file done before.\n');
  const page = path.join(stack.env['FILECONV_STATE_DIR'] ?? '', 'batches/idle/run-0001/report.html');
  expect(await batch(cwd, 'report', 'idle')).toMatchObject({
    code: 0,
    stdout: `Batch idle: its last run had nothing to do. Report of the run before: ${page}\n`,
  });
  const documents = [
    await batch(cwd, 'report', 'idle', '--json'),
    await fileconv(['open', 'idle', '--json'], { cwd, env: stack.env }),
  ];
  for (const { stdout } of documents) expect(parseJson(stdout)).toMatchObject({ page: pathToFileURL(page).href });
});

it('--stop-after starts no more jobs after that many failures', async () => {
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
])('--on-existing %s applies to a file that no run wrote', async (what, code, kept) => {
  const cwd = await folderWithPictures(1);
  await mkdir(path.join(cwd, 'out'));
  await writeFile(path.join(cwd, 'out/p001.gif'), 'mine');
  expect((await batch(cwd, 'run', ...toGif(`existing-${what}`), '--on-existing', what)).code).toBe(code);
  expect((await readFile(path.join(cwd, 'out/p001.gif'), 'latin1')).slice(0, 4)).toBe(kept);
  expect(existsSync(path.join(cwd, 'out/p001 (1).gif'))).toBe(what === 'rename');
});

describe('exit codes', () => {
  it.each([
    ['status', 'none'],
    ['watch', 'none'],
    ['pause', 'none'],
    ['resume', 'none'],
    ['window', 'none', '5'],
    ['cancel', 'none'],
    ['report', 'none'],
    ['retry', 'none'],
  ])('%s of an unknown batch: 2, and how to list batches', async (...args) => {
    const ended = await batch(await newFolder(), ...args);
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).toMatch(/^error: There is no batch none\b.*fileconv batch list\n$/);
  });

  it.each(['../x', 'a/b', '.hidden', 'x'.repeat(101)])('%j is not a valid name: 2', async (name) => {
    const cwd = await folderWithPictures(1);
    const answers = [await batch(cwd, 'status', name), await batch(cwd, 'run', ...toGif(name))];
    for (const ended of answers) {
      expect(ended).toMatchObject({ code: 2, stdout: '' });
      expect(linesOf(ended.stderr)).toEqual([expect.stringContaining("can't be the name of a batch")]);
    }
  });

  it('nothing to convert: 2, with the reasons', async () => {
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
      "error: 1 file (noext) can't be converted: the service takes a file's format from the extension of its name",
    );
  });

  it('no running stack: 3, and how to start one', async () => {
    const ended = await fileconv(['batch', 'list', '--json'], { cwd: await newFolder() });
    expect(ended.code).toBe(3);
    expect(linesOf(ended.stderr)).toEqual([expect.stringMatching(/^error: No stack runs in .*fileconv up/)]);
    expect(parseJson(ended.stdout)).toMatchObject({ error: { code: 'TEMPORAL_UNREACHABLE' } });
  });

  it('Ctrl-C before the first job: 130, and no run is left behind', async () => {
    const cwd = await folderWithPictures(1);
    const command = startFileconv(['batch', 'run', ...toGif('early')], { cwd });
    await command.until(/starting one for this command/);
    const ended = await command.end();
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
