import { existsSync, statSync } from 'node:fs';
import { chmod, link, mkdir, mkdtemp, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createLocalFiles } from '../../src/storage/local-files';
import { moveByCopy } from '../../src/storage/move';
import { MemoryFiles } from '../support/memory-files';
import { cleanUp, failureOf, listFolder, makeFolder, mountMemory, uriOf, withoutPrivileges } from './folder';

/** What the contract leaves open: the specifics of a file system, and of a copy. */

afterEach(cleanUp);

const files = createLocalFiles();

async function stampOf(uri: string): Promise<string> {
  const found = await files.look(uri);
  return found.kind === 'file' ? found.stamp : '';
}

async function folders() {
  const folder = await makeFolder();
  await mkdir(path.join(folder, 'in'));
  await writeFile(path.join(folder, 'in', 'a.md'), 'content');
  const uri = uriOf(folder, 'in/a.md');
  const move = async (to: string) => files.move?.({ uri, to: uriOf(folder, to), stamp: await stampOf(uri) });
  return { folder, uri, move };
}

describe('a local file', () => {
  it('is moved unchanged, with its modification time, into folders that are created', async () => {
    const { folder, move } = await folders();
    const before = await stat(path.join(folder, 'in', 'a.md'));
    expect(await move('done/deep/a.md')).toBe('moved');
    const { ino, mtimeMs } = await stat(path.join(folder, 'done/deep/a.md'));
    expect([ino, mtimeMs]).toEqual([before.ino, before.mtimeMs]);
    expect(await listFolder(path.join(folder, 'in'))).toEqual([]);
  });

  it('takes a name that a killed process has reserved for it, but none reserved for another file', async () => {
    const { folder, move } = await folders();
    await mkdir(path.join(folder, 'done'));
    const [own, other] = ['in/a.md', 'in/b.md'].map(
      (name) => `fileconv is moving ${path.join(folder, name)} to this name.\n`,
    );
    await writeFile(path.join(folder, 'done', 'a.md'), other ?? '');
    expect(await move('done/a.md')).toBe('taken');
    await writeFile(path.join(folder, 'done', 'a.md'), own ?? '');
    expect(await move('done/a.md')).toBe('moved');
    expect(await readFile(path.join(folder, 'done', 'a.md'), 'utf8')).toBe('content');
  });

  it('is removed when it is moved back, if it only reserves a name for a file that a killed process never moved', async () => {
    const { folder, uri } = await folders();
    const reserved = uriOf(folder, 'failed/a.md');
    await mkdir(path.join(folder, 'failed'));
    for (const isThere of [true, false]) {
      await writeFile(
        path.join(folder, 'failed', 'a.md'),
        `fileconv is moving ${path.join(folder, 'in/a.md')} to this name.\n`,
      );
      expect(await files.move?.({ uri: reserved, to: uri, stamp: await stampOf(reserved) })).toBe('moved');
      expect(await listFolder(path.join(folder, 'failed'))).toEqual([]);
      expect(await listFolder(path.join(folder, 'in'))).toEqual(isThere ? ['a.md'] : []);
      await rm(path.join(folder, 'in', 'a.md'), { force: true });
    }
  });

  it('is not moved into its own folder under another name, where it would be removed as its own copy', async () => {
    const { folder, move } = await folders();
    await symlink('in', path.join(folder, 'done'));
    expect(await failureOf(move('done/a.md'))).toMatchObject({ code: 'DESTINATION_IS_SOURCE', retryable: false });
    expect(await readFile(path.join(folder, 'in', 'a.md'), 'utf8')).toBe('content');
  });

  it("stays if it is a link, and so does the link's target", async () => {
    const { folder } = await folders();
    await symlink('a.md', path.join(folder, 'in', 'link.md'));
    const uri = uriOf(folder, 'in/link.md');
    const moving = files.move?.({ uri, to: uriOf(folder, 'done/link.md'), stamp: await stampOf(uri) });
    expect(await failureOf(moving ?? Promise.resolve())).toMatchObject({ code: 'SOURCE_UNREADABLE', retryable: false });
    expect(await listFolder(path.join(folder, 'in'))).toEqual(['a.md', 'link.md']);
  });

  it('leaves nothing under its new name if the disk is full', async () => {
    const mounted = await mountMemory('size=64k');
    if (mounted === undefined) {
      console.warn('skipped: this user may not mount a file system');
      return;
    }
    const uri = uriOf(mounted, 'in/a.md');
    await mkdir(path.join(mounted, 'in'));
    await writeFile(path.join(mounted, 'in', 'a.md'), 'content');
    await writeFile(path.join(mounted, 'rest'), Buffer.alloc(100_000)).catch(() => undefined);
    const stamp = await stampOf(uri);
    const move = async () => files.move?.({ uri, to: uriOf(mounted, 'done/a.md'), stamp });
    expect(await failureOf(move())).toMatchObject({ code: 'DESTINATION_FULL' });
    expect(await listFolder(path.join(mounted, 'done'))).toEqual([]);
    await rm(path.join(mounted, 'rest'));
    expect(await move()).toBe('moved');
  });

  it('causes an error that names the folder if this user may not remove files from it', async () => {
    const { folder, uri, move } = await folders();
    await mkdir(path.join(folder, 'done'));
    await chmod(folder, 0o755);
    await chmod(path.join(folder, 'done'), 0o777);
    await chmod(path.join(folder, 'in'), 0o555);
    expect(await failureOf(withoutPrivileges(() => move('done/a.md')))).toMatchObject({
      code: 'DESTINATION_NOT_WRITABLE',
      message: `Cannot write ${uri}: this user may not write there.`,
    });
    expect(await listFolder(path.join(folder, 'done'))).toEqual([]);
  });

  it('keeps its second hard link', async () => {
    const { folder, move } = await folders();
    await mkdir(path.join(folder, 'done'));
    await link(path.join(folder, 'in', 'a.md'), path.join(folder, 'done', 'a.md'));
    expect([await move('done/a.md'), await move('done/a (1).md')]).toEqual(['taken', 'moved']);
    expect(await listFolder(path.join(folder, 'done'))).toEqual(['a (1).md', 'a.md']);
  });
});

describe('a local file that moves to another file system', () => {
  const shared = '/dev/shm';
  const isOther = statSync(shared, { throwIfNoEntry: false })?.dev !== statSync(tmpdir()).dev;
  (existsSync(shared) && isOther ? it : it.skip)(
    'counts a copy that a killed process has made, and keeps its mode and time',
    async () => {
      const { folder, uri } = await folders();
      const [mode, time] = [0o640, new Date('2026-01-02T03:04:05Z')];
      await chmod(path.join(folder, 'in', 'a.md'), mode);
      await utimes(path.join(folder, 'in', 'a.md'), time, time);
      const there = await mkdtemp(path.join(shared, 'fileconv-test-'));
      try {
        const to = uriOf(there, 'done/a.md');
        await mkdir(path.join(there, 'done'));
        await writeFile(path.join(there, 'done', 'a.md'), 'content');
        expect(await files.move?.({ uri, to, stamp: await stampOf(uri) })).toBe('moved');
        expect(await listFolder(path.join(folder, 'in'))).toEqual([]);
        expect(await listFolder(path.join(there, 'done'))).toEqual(['a.md']);
        const copy = await stat(path.join(there, 'done', 'a.md'));
        expect([copy.mode & 0o777, copy.mtimeMs]).toEqual([mode, time.getTime()]);
      } finally {
        await rm(there, { recursive: true });
      }
    },
  );
});

describe('a move by copy', () => {
  const [uri, to] = ['memory:///in/a.md', 'memory:///done/a.md'];
  async function copying(remove: (memory: MemoryFiles) => boolean) {
    const memory = new MemoryFiles();
    memory.files.set(uri, Buffer.from('content'));
    const found = await memory.look(uri);
    const stamp = found.kind === 'file' ? found.stamp : '';
    return { memory, move: () => moveByCopy({ uri, to, stamp }, memory, () => Promise.resolve(remove(memory))) };
  }
  const names = ({ files }: MemoryFiles) => [...files.keys()].sort();

  it('removes the file once the copy is there, even if the copy was there before', async () => {
    const { memory, move } = await copying(
      (all) => all.files.get(to)?.toString() === 'content' && all.files.delete(uri),
    );
    memory.files.set(to, Buffer.from('content'));
    expect([await move(), names(memory)]).toEqual(['moved', [to]]);
  });

  it('keeps the copy if the file is gone by the time of its removal: an answer was lost, or another attempt was faster', async () => {
    const { memory, move } = await copying((all) => !all.files.delete(uri));
    expect([await move(), names(memory)]).toEqual(['moved', [to]]);
  });

  it('leaves no copy of a file that has changed meanwhile, or whose new name is taken', async () => {
    const { memory, move } = await copying(() => false);
    expect([await move(), names(memory)]).toEqual(['changed', [uri]]);
    memory.files.set(to, Buffer.from('other'));
    expect([await move(), memory.files.get(to)?.toString()]).toEqual(['taken', 'other']);
  });
});
