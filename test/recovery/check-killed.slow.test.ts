import { chmod, mkdir, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ConversionFailedError } from '../../src/client/conversion-handle';
import { quickPolicies } from '../support/conversion-worker';
import { workersOfEachTest } from '../support/killable-workers';
import { until } from '../support/until';

/** A worker is killed while it checks a result, and is replaced. */

const workers = workersOfEachTest();
const out = () => path.join(workers.folder, 'out');

/** Waits as long as the file `hold` exists. */
const script = `#!/bin/sh
touch "$(dirname "$0")/begun"
while [ -e "$(dirname "$0")/hold" ]; do sleep 0.1; done
grep -q good "$1" || { echo "no good" >&2; exit 1; }
`;

const start = async () =>
  workers.client.start({
    source: await workers.source('report.md'),
    output: 'docx',
    destination: path.join(out(), 'report.docx'),
    policies: { ...quickPolicies, check: 'command' },
  });

it.each([
  ['good', 'report.docx'],
  ['bad', 'report.docx.suspect'],
])('ends the same way with a result that is %s', async (quality, name) => {
  const { stub, folder } = workers;
  const [program, hold, scratch] = [path.join(folder, 'check.sh'), path.join(folder, 'hold'), path.join(folder, 'tmp')];
  await mkdir(scratch);
  await writeFile(program, script);
  await chmod(program, 0o755);
  await writeFile(hold, '');
  stub.output = Buffer.from(`PK ${quality}`);
  const env = { FILECONV_WORKER_CHECK_COMMAND: program, TMPDIR: scratch };
  const doomed = await workers.startWorker({ env });
  const job = await start();
  await until('the program looks at the result', async () => (await readdir(folder)).includes('begun'));
  expect(await readdir(folder)).not.toContain('out');
  await doomed.kill();
  const leftBehind = async () => (await readdir(scratch)).filter((each) => each.startsWith('fileconv-check-'));
  const left = await leftBehind();
  expect(left).toHaveLength(1);
  const long = new Date(Date.now() - 8 * 24 * 60 * 60_000);
  await utimes(path.join(scratch, left[0] ?? ''), long, long);

  await rm(hold);
  await workers.startWorker({ env });
  const ended = await job.result().then(
    ({ output }) => output,
    (error: unknown) => {
      const { code, details } = error as ConversionFailedError;
      return { code, ...details?.output };
    },
  );
  expect(ended).toMatchObject({ name, ...(quality === 'bad' && { code: 'RESULT_SUSPECT' }) });
  expect([await readdir(out()), stub.count('convert/file')]).toEqual([[name], 1]);
  // The old leftovers are swept, and no new ones remain.
  expect(await leftBehind()).toEqual([]);
});

it('does not take a slow check command for a lost worker', async () => {
  await workers.startWorker({ env: { FILECONV_WORKER_CHECK_COMMAND: 'sh,-c,sleep 15' } });
  const { output } = await (await start()).result();
  expect([output?.name, workers.stub.count('download/url/get')]).toEqual(['report.docx', 1]);
});
