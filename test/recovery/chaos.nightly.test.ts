import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';

const chaos = path.resolve(__dirname, '../../scripts/chaos.mjs');

it('no job is lost and no conversion is spent twice in silence while processes are killed at random (npm run chaos: more of it)', async () => {
  const args = [chaos, '--rounds', '1', '--files', '10', '--kills', '3'];
  // Ended before the test is, it takes its stack along.
  const run = promisify(execFile)(process.execPath, args, { timeout: 280_000 });
  // It prints the problems and the summary, and then fails.
  const { stdout } = await run.catch((error: unknown) => error as { stdout: string });
  const summary: unknown = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '');
  expect(summary).toMatchObject({ rounds: 1, jobs: 10, succeeded: 10, problems: [] });
});
