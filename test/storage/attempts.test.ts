import { link as linkFile, mkdir, readdir, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { WriteDestinationOptions } from '../../src/storage/file-store';
import { cleanUp, failureOf, listFolder, makeFolder, uriOf } from './folder';
import { begun, endless, store, write } from './writing';

let folder: string;
beforeEach(async () => (folder = await makeFolder()));
afterEach(cleanUp);

describe('attempts of one job', () => {
  /** Writes a part and waits, like a worker that was given up but is still running. */
  function startZombie(uri: string, options: Partial<WriteDestinationOptions> = {}) {
    const gate: { open?: () => void } = {};
    const opened = new Promise<void>((resolve) => (gate.open = resolve));
    async function* body() {
      yield Buffer.from('zombie ');
      await opened;
      yield Buffer.from('content');
    }
    const writing = write(uri, { body: body(), onExisting: 'overwrite', ...options });
    writing.catch(() => undefined);
    return { writing, release: () => gate.open?.() };
  }

  it.each(['overwrite', 'fail', 'rename'] as const)(
    'a later attempt removes the file of an earlier one, which then fails and spoils nothing (%s)',
    async (onExisting) => {
      const uri = uriOf(folder, 'out.pdf');
      const zombie = startZombie(uri, { onExisting });
      await begun(folder);
      await write(uri, { attempt: 2, onExisting });
      zombie.release();
      expect((await failureOf(zombie.writing)).code).toBe('TEMPORARY_FILE_LOST');
      expect(await listFolder(folder)).toEqual(['out.pdf']);
      expect(await readFile(path.join(folder, 'out.pdf'), 'utf8')).toBe('new content');
    },
  );

  it('an attempt with the same number takes over too', async () => {
    const uri = uriOf(folder, 'out.pdf');
    const zombie = startZombie(uri);
    const { ino } = await begun(folder);
    const successor = startZombie(uri);
    await begun(folder, ino);
    zombie.release();
    expect((await failureOf(zombie.writing)).code).toBe('TEMPORARY_FILE_LOST');
    successor.release();
    await successor.writing;
    expect(await readFile(path.join(folder, 'out.pdf'), 'utf8')).toBe('zombie content');
    expect(await listFolder(folder)).toEqual(['out.pdf']);
  });

  it.each(['overwrite', 'fail', 'skip', 'rename'] as const)(
    'that may not commit replace nothing, create no file, and remove their temporary one (%s)',
    async (onExisting) => {
      await writeFile(path.join(folder, 'newer.pdf'), 'newer');
      const lost = new Error('given up');
      for (const name of ['newer.pdf', 'none.pdf']) {
        const writing = write(uriOf(folder, name), { onExisting, mayCommit: () => Promise.reject(lost) });
        await expect(writing).rejects.toBe(lost);
      }
      expect(await listFolder(folder)).toEqual(['newer.pdf']);
      expect(await readFile(path.join(folder, 'newer.pdf'), 'utf8')).toBe('newer');
    },
  );

  it('leave the files of other jobs alone', async () => {
    const other = startZombie(uriOf(folder, 'out.pdf'), { jobKey: 'job-2', onExisting: 'rename' });
    await begun(folder);
    await write(uriOf(folder, 'out.pdf'), { attempt: 2 });
    await store.discardPartial({ uri: uriOf(folder, 'out.pdf'), jobKey: 'job-1' });
    other.release();
    expect(await other.writing).toMatchObject({ name: 'out (1).pdf' });
  });

  it('do not follow a symbolic link with the name of the temporary file', async () => {
    const zombie = startZombie(uriOf(folder, 'out.pdf'));
    const { name } = await begun(folder);
    zombie.release();
    await zombie.writing;
    await writeFile(path.join(folder, 'victim'), 'precious');
    await symlink('victim', path.join(folder, name));
    await write(uriOf(folder, 'out.pdf'), { onExisting: 'overwrite' });
    expect(await readFile(path.join(folder, 'victim'), 'utf8')).toBe('precious');
  });
});

describe('discardPartial', () => {
  it('removes what attempts left, by file or by folder, and nothing else', async () => {
    for (const uri of [uriOf(folder, 'out.pdf'), `${uriOf(folder)}/`]) {
      const stop = new AbortController();
      const writing = write(uriOf(folder, 'out.pdf'), { body: endless(), attempt: 3, signal: stop.signal });
      writing.catch(() => undefined);
      const left = await begun(folder);
      // As after a kill -9: the name stays because no process is left to remove it.
      await linkFile(path.join(folder, left.name), path.join(folder, 'kept'));
      await store.discardPartial({ uri, jobKey: 'job-1' });
      expect(await listFolder(folder)).toEqual(['kept']);
      stop.abort(new Error('over'));
      await writing.catch(() => undefined);
      await rm(path.join(folder, 'kept'));
    }
  });

  it('does nothing if the folder does not exist', async () =>
    await store.discardPartial({ uri: uriOf(folder, 'none', 'out.pdf'), jobKey: 'job-1' }));
});

it('a sweep removes temporary files of any job after a day without a write, and nothing else', async () => {
  const names = [
    '.a.pdf.0123456789ab.2.part',
    '.b.pdf.0123456789ab.1.part',
    'a.part',
    'sub/.c.pdf.ba9876543210.1.part',
  ];
  await mkdir(path.join(folder, 'sub'));
  for (const name of names) await writeFile(path.join(folder, name), 'x');
  const dayAgo = Date.now() / 1_000 - 25 * 3_600;
  for (const name of names.filter((each) => !each.startsWith('.b')))
    await utimes(path.join(folder, name), dayAgo, dayAgo);
  await store.sweepPartial?.(`${uriOf(folder)}/`);
  expect((await readdir(folder, { recursive: true })).sort()).toEqual([names[1], 'a.part', 'sub', names[3]]);
  await store.sweepPartial?.(`${uriOf(folder)}/`, { recursive: true });
  expect((await readdir(folder, { recursive: true })).sort()).toEqual([names[1], 'a.part', 'sub']);
  await store.sweepPartial?.(uriOf(folder, 'none', ''));
});
