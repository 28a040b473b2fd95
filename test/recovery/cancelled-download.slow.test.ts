import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { begunDownloads } from '../support/begun-downloads';
import { quickPolicies, startRig, type ConversionRig } from '../support/conversion-worker';
import { until } from '../support/until';
import { WorkerProcess } from '../support/worker-process';

/** A worker is killed in the middle of a download, and the job is cancelled while nobody has noticed. */

let rig: ConversionRig;
const workers: WorkerProcess[] = [];

beforeAll(async () => {
  rig = await startRig({ worker: false });
});
afterAll(async () => {
  for (const worker of workers) await worker.kill();
  await rig.close();
});

async function startWorker() {
  const { taskQueue, folder, stub } = rig;
  const worker = await WorkerProcess.start({ taskQueue, folder, apps: { stub: stub.url } });
  workers.push(worker);
  return worker;
}

it('ends as cancelled, and leaves no temporary file', async () => {
  const first = await startWorker();
  rig.stub.on('download/url/get', (_seen, response) => {
    response.writeHead(200, { 'content-length': rig.stub.output.length });
    response.write(rig.stub.output.subarray(0, 4));
  });
  const out = path.join(rig.folder, 'out');
  const job = await rig.client.start({
    source: await rig.source('report.md'),
    output: 'pdf',
    destination: path.join(out, 'report.pdf'),
    policies: quickPolicies,
  });
  await until('a part of the file is there', async () => (await begunDownloads(out)).length > 0);
  await first.kill();
  await job.cancel();
  await startWorker();
  await expect(job.result()).rejects.toMatchObject({ code: 'CANCELLED' });
  expect(await readdir(out)).toEqual([]);
});
