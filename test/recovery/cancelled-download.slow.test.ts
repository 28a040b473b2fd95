import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { begunDownloads } from '../support/begun-downloads';
import { quickPolicies } from '../support/conversion-worker';
import { workersOfEachTest } from '../support/killable-workers';
import { until } from '../support/until';

const workers = workersOfEachTest();

it('a job that is cancelled after its worker was killed in the middle of a download leaves no temporary file', async () => {
  const { stub } = workers;
  const doomed = await workers.startWorker();
  stub.on('download/url/get', (_seen, response) => {
    response.writeHead(200, { 'content-length': stub.output.length });
    response.write(stub.output.subarray(0, 4));
  });
  const out = path.join(workers.folder, 'out');
  const job = await workers.client.start({
    source: await workers.source('report.md'),
    output: 'pdf',
    destination: path.join(out, 'report.pdf'),
    policies: quickPolicies,
  });
  await until('a part of the file is there', async () => (await begunDownloads(out)).length > 0);
  await doomed.kill();
  await job.cancel();
  await workers.startWorker();
  await expect(job.result()).rejects.toMatchObject({ code: 'CANCELLED' });
  expect(await readdir(out)).toEqual([]);
});
