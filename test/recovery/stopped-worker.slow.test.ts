import { mkdir, mkdtemp, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Client } from '@temporalio/client';
import { FileConversionClient } from '../../src/client/file-conversion-client';
import type { OnExisting } from '../../src/job/types';
import { quickPolicies } from '../support/conversion-worker';
import { startStubService, type StubService } from '../support/stub-service';
import { testClient } from '../support/temporal';
import { until } from '../support/until';
import { WorkerProcess } from '../support/worker-process';

/**
 * A worker is stopped with SIGSTOP, as a closed laptop or a paused machine is, while it waits for the bytes of four downloads. Another one does
 * its work; then the first one wakes, and the bytes come. `npm run chaos -- --stopped` stops it at random moments around the commit.
 */

const choices = ['fail', 'skip', 'overwrite', 'rename'] as const;

describe('a worker that wakes after another one has done its work', () => {
  let folder: string;
  let temporal: Client;
  let stub: StubService;
  let client: FileConversionClient;
  const workers: WorkerProcess[] = [];

  const outFolder = (choice: OnExisting) => path.join(folder, `out-${choice}`);
  const output = (choice: OnExisting) => path.join(outFolder(choice), 'report.pdf');

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'fileconv-stopped-'));
    temporal = await testClient();
    stub = await startStubService();
    client = new FileConversionClient({ client: temporal, taskQueue: path.basename(folder), app: 'stub' });
    const held: ServerResponse[] = [];
    stub.on('download/url/get', (seen, response) => {
      if (held.length < choices.length) held.push(response);
      else stub.answerAsAlways(seen, response);
    });

    const stopped = await startWorker();
    const jobs = await Promise.all(choices.map((choice) => convert(choice)));
    await until('all wait for their bytes', () => held.length === choices.length);
    stopped.pause();
    const other = await startWorker();
    await Promise.all(jobs.map((job) => job.result()));
    // Of two the owner has disposed, one is newer by now.
    await rm(output('fail'));
    await rm(output('skip'));
    await writeFile(`${output('overwrite')}.new`, 'newer');
    await rename(`${output('overwrite')}.new`, output('overwrite'));
    await other.drain();

    for (const response of held) response.writeHead(200, { 'content-length': stub.output.length }).end(stub.output);
    stopped.resume();
    // Whatever it had to do still, it has done by then.
    await (await convert('rename', 'later.md')).result();
  });

  afterAll(async () => {
    await Promise.all(workers.map((worker) => worker.kill()));
    await temporal.connection.close();
    await stub.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function startWorker(): Promise<WorkerProcess> {
    const worker = await WorkerProcess.start({ taskQueue: path.basename(folder), folder, apps: { stub: stub.url } });
    workers.push(worker);
    return worker;
  }

  async function convert(onExisting: OnExisting, name = 'report.md') {
    const source = path.join(folder, name);
    await writeFile(source, '# A report\n');
    await mkdir(outFolder(onExisting), { recursive: true });
    const destination = `${outFolder(onExisting)}/`;
    return client.start({ source, output: 'pdf', destination, onExisting, policies: quickPolicies });
  }

  it('replaces nothing that is newer', async () => {
    expect(await readFile(output('overwrite'), 'utf8')).toBe('newer');
    expect(await readdir(outFolder('overwrite'))).toEqual(['report.pdf']);
  });

  it.each([
    ['fail', []],
    ['skip', []],
    ['rename', ['later.pdf', 'report.pdf']],
  ] as const)('makes no second result, and leaves nothing behind (%s)', async (choice, left) => {
    expect((await readdir(outFolder(choice))).sort()).toEqual(left);
  });
});
