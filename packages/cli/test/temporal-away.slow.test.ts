import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { commandNames, fileconv, newFolder, removeFolders, type Ended } from './fileconv';

/** What the shell learns of each command when Temporal can't be reached. */

afterAll(removeFolders);

const address = '127.0.0.1:1';
const failed = 1;
const batchCouldNotRun = 3;

/** A command line of each command that needs Temporal to be there. */
const needsTemporal: [line: string, code: number][] = [
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

/** They start and wait for it, run beside it, or have tests of their own: `worker` and `batch retry`. */
const others =
  /^(up|down|status|logs|init|completion|complete|worker|batch retry|callbacks|codec-server|formats|service( .*)?|config .*)$/;

it('a command that can not reach Temporal ends with 1, one of batch with 3, and says so in one line', async () => {
  const cwd = await newFolder();
  await mkdir(path.join(cwd, 'in'));
  await writeFile(path.join(cwd, 'in/a.md'), '# A\n');
  const options = { cwd, env: { TEMPORAL_ADDRESS: address } };
  // At a time: each waits for some seconds.
  const all = await Promise.all(needsTemporal.map(([line]) => fileconv(line.split(' '), options)));
  const told = needsTemporal.map(([line], n) => {
    const { code, stderr = '' }: Partial<Ended> = all[n] ?? {};
    return [line, code, line === 'doctor' ? line : stderr.replace(/^(.* at 127\.0\.0\.1:1)\b.*\n$/, '$1')];
  });
  const reason = `error: Temporal can't be reached at ${address}`;
  expect(told).toEqual(needsTemporal.map(([line, code]) => [line, code, line === 'doctor' ? line : reason]));
});

it('those are all the commands that need it', () => {
  const names = commandNames();
  const covered = names.filter((name) => needsTemporal.some(([line]) => `${line} `.startsWith(`${name} `)));
  expect(names.filter((name) => !covered.includes(name) && !others.test(name))).toEqual([]);
  expect(covered).toHaveLength(needsTemporal.length);
});

it.each(['worker', 'callbacks'])(
  '%s joins no stack of another folder, which may be at the usual port',
  async (part) => {
    const cwd = await newFolder();
    const ended = await fileconv([part], { cwd });
    expect(ended).toMatchObject({ code: 1, stdout: '' });
    expect(ended.stderr).toMatch(/^error: No stack runs in .* Start it \(fileconv up\), or name a Temporal that runs/);
  },
);
