import { randomUUID } from 'node:crypto';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { quickPolicies } from '../support/conversion-worker';
import { chargeProblems, conversionsOf } from '../support/invariant';
import { workersOfEachTest } from '../support/killable-workers';
import { answerCompleted } from '../support/stub-service';
import { until } from '../support/until';

/** A batch with a limit on its cost, whose workers are killed repeatedly with `kill -9`. */

const [files, price, limit, window, kills] = [300, 2, 100, 10, 10];

const workers = workersOfEachTest();

it('is charged no more than its limit plus what was in flight, and with a higher limit pays for nothing twice', async () => {
  const { folder, temporal, stub, client, startWorker } = workers;
  const source = path.join(folder, 'in');
  await mkdir(source);
  for (let file = 1; file <= files; file += 1) await writeFile(path.join(source, `${file}.md`), `# ${file}\n`);
  stub.on('task/response', (seen, response) => answerCompleted(response, seen.connector, { vcredits: price }));
  const folders = { out: path.join(folder, 'out'), runs: path.join(folder, 'runs') };
  const request = { name: `batch-${randomUUID()}`, sources: [source], to: 'pdf', ...folders };
  // All kills may hit submits of the same file.
  const policies = { ...quickPolicies, maxResubmissions: kills };
  const start = (maxVcredits: number) =>
    client.startBatch({ ...request, window, maxVcredits, historyLimit: 100, policies });

  let worker = await startWorker();
  const end = (await start(limit)).result();
  for (let killed = 0; killed < kills; killed += 1) {
    const before = stub.conversions.size;
    await Promise.race([end, until('some more are converted', () => stub.conversions.size > before + 2)]);
    await worker.kill();
    worker = await startWorker();
  }
  const result = await end;
  expect([result.failures, result.status]).toEqual([{}, 'budget']);
  const inFlight = window * price;
  expect(stub.conversions.size * price).toBeLessThan(limit + inFlight);
  expect(result.cancelled).toBe(files - result.succeeded);
  expect(await readdir(folders.out)).toHaveLength(result.succeeded);

  const second = await (await start(limit + 40)).result();
  expect(second.status).toBe('budget');
  expect(stub.conversions.size * price).toBeLessThan(limit + 40 + inFlight);
  expect(await readdir(folders.out)).toHaveLength(result.succeeded + second.succeeded);
  const runs = await readdir(path.join(folders.runs, request.name));
  const all = runs.filter((each) => each.startsWith('run-')).map((each) => path.join(folders.runs, request.name, each));
  expect(await chargeProblems(conversionsOf(stub), all, temporal)).toEqual([]);
});
