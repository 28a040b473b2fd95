import { Readable } from 'node:stream';
import { isUnreadable } from '../../src/activities/failure';
import { CheckNotRunError } from '../../src/checks/errors';
import { ResultChecks } from '../../src/checks/result-checks';

const never = new CheckNotRunError('the process that opens results did not answer within 120 seconds', true);
const opening = {
  ask: ({ path }: { path?: string }) => (path ? Promise.reject(never) : Promise.resolve({})),
  close: () => undefined,
};

const { signal: ongoing } = new AbortController();

function problemOf(isLastLook: boolean): Promise<string | undefined> {
  return look(new ResultChecks(undefined, opening), ongoing, isLastLook);
}

function look(checks: ResultChecks, signal: AbortSignal, isLastLook = false): Promise<string | undefined> {
  const body = Readable.from([Buffer.from('%PDF-1.4')]);
  const arriving = { check: 'opens', output: 'pdf', body, expectedSize: undefined, signal, isLastLook } as const;
  return checks.take(arriving, (_body, problem) => Promise.resolve(problem));
}

it('tries again with what never comes to an end, and calls it suspect at last: else nobody would get it', async () => {
  await expect(problemOf(false)).rejects.toBe(never);
  expect(isUnreadable(never)).toBe(true);
  expect(await problemOf(true)).toBe(
    "can't be opened: the process that opens results did not answer within 120 seconds",
  );
});

it('finds out that there is no program before anything is spent', async () => {
  const possible = (program: string) =>
    new ResultChecks({ argv: [program] }, opening).assertPossible({ check: 'command', output: 'pdf' }, ongoing);
  for (const program of ['no-such-program', './check.sh', __filename, __dirname]) {
    await expect(possible(program)).rejects.toThrow(`there is no program ${program} that it could run`);
  }
  for (const program of ['sh', process.execPath]) await possible(program);
});
