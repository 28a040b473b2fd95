import { mkdir, readdir } from 'node:fs/promises';
import path from 'node:path';
import { ConversionFailedError } from '../../src/client/conversion-handle';
import { quickPolicies } from '../support/conversion-worker';
import { workersOfAllTests } from '../support/killable-workers';
import { canBeMachines, type WorkerProcess } from '../support/worker-process';

/** Workers on three machines: `stranger` shares no folder with the other two, which share all. */

if (!canBeMachines()) console.warn('skipped: this user may not make mounts and host names for a process');
const describeMachines = canBeMachines() ? describe : describe.skip;

describeMachines('workers on several machines', () => {
  const workers = workersOfAllTests();
  let stranger: WorkerProcess;
  let out: string;

  beforeAll(async () => {
    out = path.join(workers.folder, 'out');
    const ownFolders = [path.join(workers.folder, 'in'), out];
    for (const folder of ownFolders) await mkdir(folder);
    // Started first, so that it takes the first steps.
    stranger = await workers.startWorker({ machine: { host: 'stranger', ownFolders } });
    for (const host of ['one', 'two']) await workers.startWorker({ machine: { host, ownFolders: [] } });
  });

  const convert = (source: string) =>
    workers.client.convert({ source, output: 'pdf', destination: `${out}/`, policies: quickPolicies });

  it('put each output where its source is, pay once, and leave nothing else', async () => {
    const names = Array.from({ length: 12 }, (_, index) => `${index}.md`);
    const results = await Promise.all(names.map(async (name) => convert(await workers.source(`in/${name}`))));
    expect(results.map(({ status }) => status)).toEqual(names.map(() => 'succeeded'));
    expect([...workers.stub.conversions.values()].sort()).toEqual([...names].sort());
    expect((await readdir(out)).sort()).toEqual(names.map((name) => name.replace('.md', '.pdf')).sort());
    expect(stranger.list(out)).toEqual([]);
  });

  it('fail a job whose source none of them sees, once each has looked', async () => {
    const error: unknown = await convert(path.join(workers.folder, 'in/misspelt.md')).catch(
      (reason: unknown) => reason,
    );
    if (!(error instanceof ConversionFailedError)) throw new Error('it did not fail', { cause: error });
    expect(error.code).toBe('SOURCE_NOT_FOUND');
    expect(error.message).toMatch(/there is no such file\. Workers on .*\b(stranger|one|two)\b.* have looked\./);
    expect(error.details).toMatchObject({ charge: 'no' });
    expect(await readdir(out)).not.toContain('misspelt.pdf');
  });
});
