import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { untilDead } from '../../packages/cli/test/processes';
import { problemByCommand } from '../../src/checks/check-command';

/** Real programs with a real file. */

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'fileconv-test-'));
  await writeFile(path.join(folder, 'result.pdf'), 'content');
});

const check = (script: string, { limitMs = 60_000, signal = new AbortController().signal } = {}) =>
  problemByCommand(path.join(folder, 'result.pdf'), { argv: ['sh', '-c', script, 'sh'], limitMs }, signal);

it.each([
  ['nothing of a file that is good, whatever the program prints', 'echo noise >&2; exit 0', undefined],
  [
    'the first line on standard error',
    'echo out; echo " first " >&2; echo second >&2; exit 1',
    'is refused by sh: first',
  ],
  ['else that on standard output', 'echo; echo out; exit 1', 'is refused by sh: out'],
  ['how it ended, if it said nothing', 'exit 9', 'is refused by sh (code 9)'],
  [
    'what it said of the path, which is of a moment',
    'echo "$1 is bad" >&2; exit 1',
    'is refused by sh: the result is bad',
  ],
  [
    'control characters as text',
    String.raw`printf "\033[2J\tx" >&2; exit 1`,
    String.raw`is refused by sh: \x1b[2J\x09x`,
  ],
  [
    'the beginning of a long line',
    'head -c 9000000 /dev/zero | tr "\\0" a >&2; exit 1',
    `is refused by sh: ${'a'.repeat(300)}`,
  ],
])('reports %s', async (_what, script, told) => expect(await check(script)).toBe(told));

it('passes the path to the program but not the environment, which contains tokens', async () => {
  process.env['CHECK_TOKEN'] = 'secret';
  expect(await check('cp "$1" "$TMPDIR/copy"; env > "$TMPDIR/env"; exit 0')).toBeUndefined();
  delete process.env['CHECK_TOKEN'];
  expect(await readFile(path.join(folder, 'copy'), 'utf8')).toBe('content');
  expect(await readFile(path.join(folder, 'env'), 'utf8')).not.toMatch(/secret|TEMPORAL|npm_/);
});

it.each([
  ['it was killed: at first', ['sh', '-c', 'kill -9 $$'], 'sh has ended with SIGKILL', true],
  ['it is not there', ['no-such-program'], 'no-such-program could not be started: spawn no-such-program ENOENT', false],
  ['what it starts is not there', ['sh', '-c', 'no-such-program'], 'sh has ended with code 127', false],
])('blames the machine, not the result, if %s', async (_what, argv, why, mayBeOfResult) => {
  const looking = problemByCommand(path.join(folder, 'result.pdf'), { argv }, new AbortController().signal);
  await expect(looking).rejects.toMatchObject({
    name: 'CheckNotRunError',
    message: `The result could not be checked: ${why}.`,
    mayBeOfResult,
  });
});

it('kills a program that takes too long, together with its children', async () => {
  const late = check('sleep 60 & echo $! > "$TMPDIR/late"; sleep 60', { limitMs: 2_000 });
  await expect(late).rejects.toThrow('sh took longer than 2 seconds');
  await untilDead(Number(await readFile(path.join(folder, 'late'), 'utf8')));
});

it('does not wait for processes that the program has left behind, even outside its group', async () => {
  const leaving = (end: string) =>
    check(`sleep 40 & setsid sleep 40 & echo "no good" >&2; ${end}`, { limitMs: 30_000 });
  expect(await leaving('exit 1')).toBe('is refused by sh: no good');
  expect(await leaving('exit 0')).toBeUndefined();
});

it('ends when its job is cancelled', async () => {
  const signal = AbortSignal.timeout(100);
  const ended: unknown = await check('sleep 60', { signal }).catch((error: unknown) => error);
  expect(ended).toBe(signal.reason);
});
