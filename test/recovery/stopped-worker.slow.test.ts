import { mkdir, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { OnExisting } from '../../src/job/types';
import { quickPolicies } from '../support/conversion-worker';
import { workersOfAllTests } from '../support/killable-workers';
import type { SeenRequest } from '../support/stub-service';
import { until } from '../support/until';

/**
 * A worker is stopped with SIGSTOP during four downloads, like a closed laptop or a paused machine. Another worker does its work; then the
 * first one resumes and the bytes arrive. `npm run chaos -- --stopped` stops it at random times around the commit.
 */

const choices = ['fail', 'skip', 'overwrite', 'rename'] as const;

describe('a worker that resumes after another one has done its work', () => {
  const workers = workersOfAllTests();
  const outFolder = (choice: OnExisting) => path.join(workers.folder, `out-${choice}`);
  const output = (choice: OnExisting) => path.join(outFolder(choice), 'report.pdf');

  async function convert(onExisting: OnExisting, name = 'report.md') {
    const source = await workers.source(name);
    await mkdir(outFolder(onExisting), { recursive: true });
    const destination = `${outFolder(onExisting)}/`;
    return workers.client.start({ source, output: 'pdf', destination, onExisting, policies: quickPolicies });
  }

  beforeAll(async () => {
    const { stub } = workers;
    const held: ServerResponse[] = [];
    stub.first('download/url/get', ...choices.map(() => (response: ServerResponse) => void held.push(response)));
    const stopped = await workers.startWorker();
    const jobs = await Promise.all(choices.map((choice) => convert(choice)));
    await until('all wait for their bytes', () => held.length === choices.length);
    stopped.pause();
    const other = await workers.startWorker();
    await Promise.all(jobs.map((job) => job.result()));
    // The owner has removed two of the results and replaced a third with a newer file.
    await rm(output('fail'));
    await rm(output('skip'));
    await writeFile(`${output('overwrite')}.new`, 'newer');
    await rename(`${output('overwrite')}.new`, output('overwrite'));
    await other.drain();

    for (const response of held) response.writeHead(200, { 'content-length': stub.output.length }).end(stub.output);
    stopped.resume();
    // By the end of this job, the resumed worker has finished whatever it had left to do.
    await (await convert('rename', 'later.md')).result();
  });

  it('does not replace a newer file', async () => {
    expect(await readFile(output('overwrite'), 'utf8')).toBe('newer');
    expect(await readdir(outFolder('overwrite'))).toEqual(['report.pdf']);
  });

  it.each([
    ['fail', []],
    ['skip', []],
    ['rename', ['later.pdf', 'report.pdf']],
  ] as const)('creates no second result, and leaves nothing behind (%s)', async (choice, left) => {
    expect((await readdir(outFolder(choice))).sort()).toEqual(left);
  });
});

describe('a worker that is stopped for longer than its heartbeat timeout', () => {
  const workers = workersOfAllTests();

  it('continues the conversions that it had submitted, and repeats none', async () => {
    const { stub } = workers;
    const held: (() => void)[] = [];
    stub.first(
      'convert/file',
      ...Array.from({ length: 6 }, (_, index) => (response: ServerResponse, seen: SeenRequest) => {
        const answer = () => stub.answerAsAlways(seen, response);
        // Some answers have arrived already and wait in the worker's sockets.
        if (index < 3) answer();
        held.push(index < 3 ? () => undefined : answer);
      }),
    );
    const worker = await workers.startWorker();
    const jobs = await Promise.all(
      [1, 2, 3, 4, 5, 6].map(async (number) =>
        workers.client.start({
          source: await workers.source(`${number}.md`),
          output: 'pdf',
          destination: path.join(workers.folder, `${number}.pdf`),
          policies: { ...quickPolicies, onUnknownOutcome: 'fail' },
        }),
      ),
    );
    await until('all are submitted', () => held.length === jobs.length);
    worker.pause();
    await setTimeout(12_000);
    for (const answer of held) answer();
    worker.resume();
    const results = await Promise.all(jobs.map((job) => job.result()));
    expect(results.map(({ possiblyChargedTwice }) => possiblyChargedTwice)).toEqual(jobs.map(() => false));
    expect(stub.count('convert/file')).toBe(jobs.length);
  });
});
