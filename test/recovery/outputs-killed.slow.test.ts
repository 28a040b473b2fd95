import { randomInt, randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { FileConversionClient } from '../../src/client/file-conversion-client';
import { quickPolicies } from '../support/conversion-worker';
import { conversionsOf, untoldConversions } from '../support/invariant';
import { answerCompleted, answerRunning, startStubService, type StubService } from '../support/stub-service';
import { testClient } from '../support/temporal';
import { WorkerProcess } from '../support/worker-process';

/** A worker is killed with `kill -9` at a random moment of a job with three outputs, and another one takes its place, again and again. */

const kills = Number(process.env['OUTPUT_KILLS'] ?? 3);
const app = 'stub';
const formats = ['pdf', 'docx', 'html'];
/** About as long as a job takes. */
const longestMs = 2_500;

let stub: StubService;
let temporal: Client;
let folder: string;
let worker: WorkerProcess;
const taskQueue = `test-${randomUUID()}`;
/** Formats of the conversions that the service ran, by the job's source. */
const ran = new Map<string, string[]>();

const startWorker = () => WorkerProcess.start({ taskQueue, folder, apps: { [app]: stub.url } });

beforeAll(async () => {
  temporal = await testClient();
  stub = await startStubService();
  folder = await mkdtemp(path.join(tmpdir(), 'fileconv-test-'));
  stub.on('upload/file', async (seen, response) => {
    await sleep(100);
    stub.answerAsAlways(seen, response);
  });
  stub.on('convert/file', async (seen, response) => {
    const { output } = seen.data['parameters'] as { output: string };
    const id = stub.convert(seen);
    const file = stub.fileOf(seen);
    ran.set(file, [...(ran.get(file) ?? []), output]);
    await sleep(randomInt(200));
    answerRunning(response, id);
  });
  stub.on('task/response', (seen, response) => {
    const id = String(seen.data['connector']);
    if (Math.random() < 0.7) answerRunning(response, id);
    else answerCompleted(response, id);
  });
  worker = await startWorker();
});

afterAll(async () => {
  await worker.kill();
  await temporal.connection.close();
  await stub.close();
  await rm(folder, { recursive: true, force: true });
});

it(
  'every output is there after each kill, and none was converted twice unrecorded',
  async () => {
    const conversions = new FileConversionClient({ client: temporal, taskQueue, app });
    let marked = 0;
    for (let round = 0; round < kills; round += 1) {
      const name = `report-${round}.md`;
      const out = path.join(folder, `out-${round}`);
      await mkdir(out);
      await writeFile(path.join(folder, name), '# A report\n');
      const outputs = formats.map((output) => ({ output, destination: path.join(out, `report.${output}`) }));
      const job = await conversions.start({ source: path.join(folder, name), outputs, policies: quickPolicies });
      await sleep(randomInt(longestMs));
      await worker.kill();
      worker = await startWorker();
      const result = await job.result();
      expect(result.outputs?.map(({ status }) => status)).toEqual(['succeeded', 'succeeded', 'succeeded']);
      for (const [index, format] of formats.entries()) {
        expect(await readFile(path.join(out, `report.${format}`), 'utf8')).toBe('converted');
        const times = ran.get(name)?.filter((each) => each === format).length;
        const isMarked = result.outputs?.[index]?.possiblyChargedTwice === true;
        expect([round, format, times === 1 || isMarked]).toEqual([round, format, true]);
        if (isMarked) marked += 1;
      }
    }
    expect(await untoldConversions(conversionsOf(stub), { client: temporal, taskQueues: [taskQueue] })).toEqual([]);
    expect(stub.count('upload/file')).toBeLessThanOrEqual(2 * kills);
    console.info(`${kills} kills, ${stub.count('upload/file')} uploads, ${marked} outputs marked`);
  },
  60_000 * (kills + 1),
);
