import { randomUUID } from 'node:crypto';
import { chmod, mkdir, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ConversionFailedError } from '../../src/client/conversion-handle';
import { FileConversionClient } from '../../src/client/file-conversion-client';
import { quickPolicies } from '../support/conversion-worker';
import { killableWorkers, type KillableWorkers } from '../support/killable-workers';
import { until } from '../support/until';

/** A worker is killed while it checks a result; another one takes its place. */

let workers: KillableWorkers;
beforeAll(async () => {
  workers = await killableWorkers();
});
afterAll(() => workers.close());

/** Looks for as long as the file `hold` is there. */
const script = `#!/bin/sh
touch "$(dirname "$0")/begun"
while [ -e "$(dirname "$0")/hold" ]; do sleep 0.1; done
grep -q good "$1" || { echo "no good" >&2; exit 1; }
`;

it.each([
  ['good', 'report.docx'],
  ['bad', 'report.docx.suspect'],
])('comes to the same end with a result that is %s', async (quality, name) => {
  const folder = path.join(workers.folder, quality);
  const [program, scratch, out] = ['check.sh', 'scratch', 'out'].map((each) => path.join(folder, each)) as [
    string,
    string,
    string,
  ];
  await mkdir(scratch, { recursive: true });
  await writeFile(program, script);
  await chmod(program, 0o755);
  await writeFile(path.join(folder, 'hold'), '');
  await writeFile(path.join(folder, 'report.md'), '# A report\n');
  const { stub, temporal } = workers;
  stub.requests.length = 0;
  stub.output = Buffer.from(`PK ${quality}`);
  const taskQueue = randomUUID();
  const env = { FILECONV_WORKER_CHECK_COMMAND: program, TMPDIR: scratch };
  const doomed = await workers.startWorker(taskQueue, env);
  const job = await new FileConversionClient({ client: temporal, taskQueue, app: 'stub' }).start({
    source: path.join(folder, 'report.md'),
    output: 'docx',
    destination: path.join(out, 'report.docx'),
    policies: { ...quickPolicies, check: 'command' },
  });
  await until('the program looks at the result', async () => (await readdir(folder)).includes('begun'));
  expect(await readdir(folder)).not.toContain('out');
  await doomed.kill();
  const left = (await readdir(scratch)).filter((each) => each.startsWith('fileconv-check-'));
  expect(left).toHaveLength(1);
  const long = new Date(Date.now() - 8 * 24 * 60 * 60_000);
  await utimes(path.join(scratch, left[0] ?? ''), long, long);

  await rm(path.join(folder, 'hold'));
  await workers.startWorker(taskQueue, env);
  const ended = await job.result().then(
    ({ output }) => output,
    (error: unknown) => {
      const { code, details } = error as ConversionFailedError;
      return { code, ...details?.output };
    },
  );
  expect(ended).toMatchObject({ name, ...(quality === 'bad' && { code: 'RESULT_SUSPECT' }) });
  expect(await readdir(out)).toEqual([name]);
  expect(stub.count('convert/file')).toBe(1);
  // What was left is swept, and nothing more is left.
  expect((await readdir(scratch)).filter((each) => each.startsWith('fileconv-check-'))).toEqual([]);
});

it('is not taken for a lost worker, however long the program takes', async () => {
  const folder = path.join(workers.folder, 'slow');
  await mkdir(folder);
  await writeFile(path.join(folder, 'report.md'), '# A report\n');
  workers.stub.requests.length = 0;
  const taskQueue = randomUUID();
  await workers.startWorker(taskQueue, { FILECONV_WORKER_CHECK_COMMAND: 'sh,-c,sleep 15' });
  const { output } = await new FileConversionClient({ client: workers.temporal, taskQueue, app: 'stub' }).convert({
    source: path.join(folder, 'report.md'),
    output: 'docx',
    destination: path.join(folder, 'report.docx'),
    policies: { ...quickPolicies, check: 'command' },
  });
  expect([output?.name, workers.stub.count('download/url/get')]).toEqual(['report.docx', 1]);
});
