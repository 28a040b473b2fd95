import { mkdir, mkdtemp, readdir, rm, symlink, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { isUnreadable } from '../../src/activities/failure';
import { CheckNotRunError } from '../../src/checks/errors';
import { ResultChecks } from '../../src/checks/result-checks';

const never = new CheckNotRunError('the process that opens results did not answer within 120 seconds', true);
const opening = {
  ask: ({ path }: { path?: string }) => (path ? Promise.reject(never) : Promise.resolve({})),
  close: () => undefined,
};

const { signal: ongoing } = new AbortController();

const problemOf = (isLastLook: boolean): Promise<string | undefined> =>
  look(new ResultChecks(undefined, opening), ongoing, isLastLook);

function look(checks: ResultChecks, signal: AbortSignal, isLastLook = false): Promise<string | undefined> {
  const body = Readable.from([Buffer.from('%PDF-1.4')]);
  const arriving = { check: 'opens', output: 'pdf', body, expectedSize: undefined, signal, isLastLook } as const;
  return checks.take(arriving, (_body, problem) => Promise.resolve(problem));
}

it('retries a check that never ends, and finally calls the result suspect, so that it is delivered at all', async () => {
  await expect(problemOf(false)).rejects.toBe(never);
  expect(isUnreadable(never)).toBe(true);
  expect(await problemOf(true)).toBe(
    "can't be opened: the process that opens results did not answer within 120 seconds",
  );
});

it('does the same if the program crashes on a result', async () => {
  const checks = new ResultChecks({ argv: ['sh', '-c', 'kill -11 $$'] }, opening);
  const taken = (isLastLook: boolean) => {
    const body = Readable.from([Buffer.from('%PDF-1.4')]);
    const asked = { check: 'command', output: 'pdf', expectedSize: undefined, signal: ongoing } as const;
    return checks.take({ ...asked, body, isLastLook }, (_body, problem) => Promise.resolve(problem));
  };
  await expect(taken(false)).rejects.toThrow('sh has ended with SIGSEGV');
  expect(await taken(true)).toBe("can't be checked: sh has ended with SIGSEGV");
});

it('detects a missing program before anything is spent', async () => {
  const possible = (program: string) =>
    new ResultChecks({ argv: [program] }, opening).assertPossible({ check: 'command', output: 'pdf' }, ongoing);
  for (const program of ['no-such-program', './check.sh', __filename, __dirname]) {
    await expect(possible(program)).rejects.toThrow(`there is no program ${program} that it could run`);
  }
  for (const program of ['sh', process.execPath]) await possible(program);
});

it('delivers no result that its program has changed, even with the same length, and keeps the original if the program removes it', async () => {
  const taken = (script: string) => {
    const checks = new ResultChecks({ argv: ['sh', '-c', `${script} "$0"`] }, opening);
    const body = Readable.from([Buffer.from('%PDF-1.4')]);
    const arriving = { check: 'command', output: 'pdf', body, expectedSize: undefined, signal: ongoing } as const;
    return checks.take(arriving, (received) => text(received));
  };
  for (const script of ['printf longer >>', 'printf "%s" "%PDF-1.7" >', 'truncate -s 3']) {
    await expect(taken(script)).rejects.toThrow('the program that looks at it has changed it');
  }
  for (const script of ['cat', 'rm', 'touch -a', 'sed -i s/4/7/']) expect(await taken(script)).toBe('%PDF-1.4');
});

it("removes week-old leftovers of killed workers, despite other files of such a name that can't be removed", async () => {
  const { TMPDIR: usual } = process.env;
  const scratch = await mkdtemp(path.join(tmpdir(), 'result-checks-'));
  process.env['TMPDIR'] = scratch;
  try {
    await symlink('nowhere', path.join(scratch, 'fileconv-check-0'));
    for (const [name, daysAgo] of [
      ['fileconv-check-1', 8],
      ['fileconv-check-2', 1],
    ] as const) {
      await mkdir(path.join(scratch, name));
      const at = Date.now() / 1_000 - daysAgo * 86_400;
      await utimes(path.join(scratch, name), at, at);
    }
    await problemOf(true);
    expect((await readdir(scratch)).sort()).toEqual(['fileconv-check-0', 'fileconv-check-2']);
  } finally {
    if (usual === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = usual;
    await rm(scratch, { recursive: true });
  }
});
