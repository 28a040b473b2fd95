import { randomInt, randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { Ledger } from '../../src/batch/ledger';
import { SweepSchedules } from '../../src/client/sweep-schedules';
import { createLocalFiles } from '../../src/storage/local-files';
import { quickPolicies } from '../support/conversion-worker';
import { workersOfEachTest } from '../support/killable-workers';
import { answerError } from '../support/stub-service';
import { until } from '../support/until';

/** Workers of a hot folder are killed with `kill -9` at random times. `HOT_FILES=1000 npx jest test/recovery/hot-folder` runs the long form. */

const files = Number(process.env['HOT_FILES'] ?? 40);
// A small window makes kills hit the middle of even a small sweep.
const window = Math.max(5, Math.min(50, files / 20));
const limitMs = 120_000 + files * 600;

const stand = workersOfEachTest();

it(
  'each file is in exactly one folder, each finished one has a result in the ledger, and a file replaced meanwhile is not lost',
  async () => {
    const { folder, temporal, stub, taskQueue, startWorker } = stand;
    const place = (...names: string[]) => path.join(folder, ...names);
    const namesIn = async (name: string) =>
      (await readdir(place(name)).catch(() => [])).filter((each) => each.endsWith('.md')).sort();
    stub.on('convert/file', (seen, response) => {
      if (stub.fileOf(seen).startsWith('bad')) answerError(response, 200, 'FAILED_CONVERT');
      else stub.answerAsAlways(seen, response);
    });
    await mkdir(place('in'));
    const names = Array.from({ length: files }, (_, n) => `${n % 10 === 3 ? 'bad' : 'good'}-${n}.md`);
    for (const name of names) await writeFile(place('in', name), `# ${name}`);
    const schedules = new SweepSchedules({ client: temporal, taskQueue, app: 'stub' });
    const name = `hot-${randomUUID()}`;
    await schedules.create({
      ...{ name, times: { everyMs: 365 * 24 * 3600_000 }, from: place('in'), to: 'pdf', out: place('out') },
      ...{ batchFolder: place('runs'), settledForMs: 1, window, policies: quickPolicies },
      ...{ moveDoneTo: place('done'), moveFailedTo: place('failed') },
    });
    try {
      const sweep = async () => {
        await schedules.trigger(name);
        await until(
          'the sweep has ended',
          async () => (await schedules.lastSweep(name)).lastResult !== undefined,
          limitMs,
        );
      };
      let worker = await startWorker();
      const swept = sweep();
      await until('some are converted', () => stub.count('download/url/get') > 2);
      await writeFile(place('new'), '# Replaced');
      await rename(place('new'), place('in', 'good-0.md'));
      for (let kills = 0; kills < 3; kills += 1) {
        await sleep(randomInt(1_500));
        await worker.kill();
        worker = await startWorker();
      }
      await swept;
      await schedules.trigger(name);
      await until('what was replaced is converted too', async () => (await namesIn('in')).length === 0, limitMs);
      expect([...(await namesIn('done')), ...(await namesIn('failed'))].sort()).toEqual([...names].sort());
      expect(await namesIn('failed')).toEqual(names.filter((each) => each.startsWith('bad')).sort());
      expect(await readFile(place('done', 'good-0.md'), 'utf8')).toBe('# Replaced');
      const ledger = await Ledger.open(createLocalFiles(), `${pathToFileURL(place('runs')).href}/`);
      for (const each of await namesIn('done')) {
        const result = pathToFileURL(place('out', each.replace(/\.md$/, '.pdf'))).href;
        expect(ledger.find(result)?.delivered?.output.sha256).toMatch(/^[0-9a-f]{64}$/);
      }
    } finally {
      await schedules.delete(name);
    }
  },
  3 * limitMs,
);
