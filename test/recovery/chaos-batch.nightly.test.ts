import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';

const chaos = path.resolve(__dirname, '../../scripts/chaos.mjs');

async function playBatch(...args: string[]): Promise<unknown> {
  const run = promisify(execFile)(process.execPath, [chaos, '--batch', ...args]);
  // The script prints problems and summary before it fails.
  const { stdout } = await run.catch((error: unknown) => error as { stdout: string });
  return JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '');
}

it('ends every item of a batch once, complete and with the right charge, despite kills and operators (npm run chaos does more)', async () => {
  const summary = await playBatch('--items', '120', '--kills', '5', '--acts', '6');
  const acts = { terminate: 1, cancel: 1, reset: 1, step: 1, cancelBatch: 1, stop: 1 };
  expect(summary).toMatchObject({ kills: 5, hits: acts, counts: { succeeded: 120 }, problems: [] });
}, 900_000);

it('spends no conversion twice under policy fail, whatever is killed', async () => {
  const summary = await playBatch('--items', '45', '--kills', '4', '--policy', 'fail', '--up');
  expect(summary).toMatchObject({ kills: 4, possiblyChargedTwice: 0, extraConversions: 0, problems: [] });
}, 900_000);
