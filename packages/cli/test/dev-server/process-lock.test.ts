import { mkdtemp, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { tryProcessLock } from '../../src/dev-server';
import { ChildProgram } from './child-program';

let folder: string;
let file: string;
let child: ChildProgram | undefined;

beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'lock-test-'));
  file = path.join(folder, 'not/yet/there/up.lock');
});

afterEach(async () => {
  await child?.kill();
  child = undefined;
});

const holdInChild = `
  await temporal.tryProcessLock(FILE);
  globalThis.gc();
  print('held');
  setInterval(() => globalThis.gc(), 20);`;

describe('a process lock', () => {
  it('excludes others until it is released', async () => {
    const first = await tryProcessLock(file);
    expect(first).toBeDefined();
    expect(await tryProcessLock(file)).toBeUndefined();
    first?.release();
    const second = await tryProcessLock(file);
    expect(second).toBeDefined();
    second?.release();
  });

  it('survives a second release by its former holder', async () => {
    const first = await tryProcessLock(file);
    first?.release();
    const second = await tryProcessLock(file);
    first?.release();
    expect(await tryProcessLock(file)).toBeUndefined();
    second?.release();
  });

  it('survives garbage collection in another process, and is freed when that process is killed with -9', async () => {
    child = new ChildProgram(holdInChild.replace('FILE', JSON.stringify(file)), ['--expose-gc']);
    expect(await child.nextLine()).toBe('held');
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(await tryProcessLock(file)).toBeUndefined();
    await child.kill();
    expect(await tryProcessLock(file)).toBeDefined();
  });

  it('reports a file that cannot be opened instead of calling it locked', async () => {
    await expect(tryProcessLock(folder)).rejects.toMatchObject({ code: 'LOCK_UNUSABLE' });
    await writeFile(
      path.join(folder, 'notes'),
      'somebody else’s notes, longer than a page header of SQLite'.repeat(20),
    );
    await expect(tryProcessLock(path.join(folder, 'notes'))).rejects.toMatchObject({ code: 'LOCK_UNUSABLE' });
  });
});
