import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Client } from '@temporalio/client';
import { ConversionFailedError } from '../../src/client/conversion-handle';
import { FileConversionClient } from '../../src/client/file-conversion-client';
import { quickPolicies } from '../support/conversion-worker';
import { startStubService, type StubService } from '../support/stub-service';
import { testClient } from '../support/temporal';
import { WorkerProcess, canBeMachines } from '../support/worker-process';

/** Workers on three machines: `stranger` shares no folder with the others, which share all. */

if (!canBeMachines()) console.warn('skipped: this user may not make mounts and host names for a process');
const describeMachines = canBeMachines() ? describe : describe.skip;

describeMachines('workers on several machines', () => {
  const machines = new Map<string, WorkerProcess>();
  let temporal: Client;
  let stub: StubService;
  let client: FileConversionClient;
  let folder: string;
  let sources: string;
  let out: string;

  beforeAll(async () => {
    [temporal, stub] = await Promise.all([testClient(), startStubService()]);
    folder = await mkdtemp(path.join(tmpdir(), 'fileconv-test-'));
    [sources, out] = [path.join(folder, 'in'), path.join(folder, 'out')] as const;
    await Promise.all([mkdir(sources), mkdir(out)]);
    const taskQueue = `test-${randomUUID()}`;
    client = new FileConversionClient({ client: temporal, taskQueue, app: 'stub' });
    // The stranger is the first that takes something.
    for (const host of ['stranger', 'one', 'two']) {
      const ownFolders = host === 'stranger' ? [sources, out] : [];
      const own = path.join(folder, host);
      await mkdir(own);
      const apps = { stub: stub.url };
      machines.set(host, await WorkerProcess.start({ taskQueue, folder: own, apps, machine: { host, ownFolders } }));
    }
  });

  afterAll(async () => {
    await Promise.all([...machines.values()].map((worker) => worker.kill()));
    await temporal.connection.close();
    await stub.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('put each output where its source lies, pay once, and leave nothing else', async () => {
    const names = Array.from({ length: 12 }, (_, index) => `${index}.md`);
    const results = await Promise.all(
      names.map(async (name) => {
        const source = path.join(sources, name);
        await writeFile(source, `# Report ${name}\n`);
        return client.convert({ source, output: 'pdf', destination: `${out}/`, policies: quickPolicies });
      }),
    );
    expect(results.map(({ status }) => status)).toEqual(names.map(() => 'succeeded'));
    expect([...stub.conversions.values()].sort()).toEqual([...names].sort());
    expect((await readdir(out)).sort()).toEqual(names.map((name) => name.replace('.md', '.pdf')).sort());
    expect(machines.get('stranger')?.list(out)).toEqual([]);
  });

  it('fail a job whose source none of them sees, once each has looked', async () => {
    const source = path.join(sources, 'misspelt.md');
    const error: unknown = await client
      .convert({ source, output: 'pdf', destination: `${out}/`, policies: quickPolicies })
      .catch((reason: unknown) => reason);
    if (!(error instanceof ConversionFailedError)) throw new Error('it did not fail', { cause: error });
    expect(error.code).toBe('SOURCE_NOT_FOUND');
    expect(error.message).toMatch(/there is no such file\. Workers on .*\b(stranger|one|two)\b.* have looked\./);
    expect(error.details).toMatchObject({ charge: 'no' });
    expect(await readdir(out)).not.toContain('misspelt.pdf');
  });
});
