import { execFileSync } from 'node:child_process';
import { chmod, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { createLocalFiles } from '../../src/storage/local-files';
import { makeFolder, uriOf, withoutPrivileges } from './folder';

const store = createLocalFiles();

async function makeTree(...names: string[]): Promise<string> {
  const folder = await makeFolder();
  for (const name of names) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), name);
  }
  return folder;
}

async function walk(folder: string) {
  const [found, unreadable] = [[] as string[], [] as string[]];
  const onUnreadable = (relative: string, reason: string) => unreadable.push(`${relative} ${reason}`);
  for await (const { uri, relative } of store.walk(`${uriOf(folder)}/`, { onUnreadable })) {
    expect(uri).toBe(uriOf(folder, relative));
    found.push(relative);
  }
  return { found, unreadable };
}

it('a look distinguishes files, folders, other things and nothing, and follows links', async () => {
  const folder = await makeTree('a.md');
  await symlink('a.md', path.join(folder, 'link.md'));
  await symlink('nowhere', path.join(folder, 'broken.md'));
  const file = await store.look(uriOf(folder, 'a.md'));
  expect(file).toMatchObject({ kind: 'file', bytes: 4, modifiedAt: expect.any(Number) as number });
  expect(await store.look(uriOf(folder, 'link.md'))).toEqual(file);
  expect(await store.look(uriOf(folder))).toMatchObject({ kind: 'folder' });
  expect(await store.look('file:///dev/null')).toMatchObject({ kind: 'other' });
  const none = { kind: 'none', reason: 'does not exist' };
  expect(await store.look(uriOf(folder, 'broken.md'))).toEqual({ ...none, isLink: true });
  expect(await store.look(uriOf(folder, 'a.md/b'))).toEqual({ ...none, isLink: false });
});

it('a read fails with a specific code', async () => {
  const folder = await makeTree('a.md', 'b/c.md');
  await expect(buffer(store.read(uriOf(folder, 'b')))).rejects.toMatchObject({ code: 'SOURCE_IS_DIRECTORY' });
  const signal = AbortSignal.abort(new Error('stopped'));
  await expect(buffer(store.read(uriOf(folder, 'a.md'), { signal }))).rejects.toThrow('stopped');
});

describe('a walk', () => {
  it('finds the files of each folder before those of its subfolders, both by name, including hidden but not temporary ones', async () => {
    const partial = '.a.pdf.0123456789ab.1.part';
    const folder = await makeTree('b/2.md', 'a/1 é.md', 'z.md', '.hidden', 'a/deep/3.md', 'a.md', partial);
    expect((await walk(folder)).found).toEqual(['.hidden', 'a.md', 'z.md', 'a/1 é.md', 'a/deep/3.md', 'b/2.md']);
  });

  it('follows a link to an outside folder once, never a link into or above the tree, and says so', async () => {
    const folder = await makeTree('in/a/1.md', 'else/2.md');
    const links = { 'in/b': 'a', 'in/c': '../else', 'in/d': '../else', 'in/a/up': '../..', 'in/lost': 'nowhere' };
    for (const [link, target] of Object.entries(links)) await symlink(target, path.join(folder, link));
    expect(await walk(path.join(folder, 'in'))).toEqual({
      found: ['a/1.md', 'c/2.md'],
      unreadable: [
        'lost is a symbolic link that leads nowhere',
        'a/up is a link to a folder that it lies in',
        `b is a link to ${path.join(folder, 'in/a')}, which lies in the same tree`,
        'd is a link to a folder that was looked into before',
      ],
    });
  });

  it('reports entries that are neither file nor folder', async () => {
    const folder = await makeTree('a.md');
    execFileSync('mkfifo', [path.join(folder, 'b.md')]);
    await symlink('/dev/null', path.join(folder, 'c.md'));
    const unreadable = ['b.md is a pipe, a socket or a device', 'c.md is a pipe, a socket or a device'];
    expect(await walk(folder)).toEqual({ found: ['a.md'], unreadable });
  });

  it('reports a folder that this user may not read, and finds nothing in one that is gone', async () => {
    const folder = await makeTree('a.md', 'closed/b.md');
    await chmod(folder, 0o755);
    await chmod(path.join(folder, 'closed'), 0o000);
    const walked = await withoutPrivileges(() => walk(folder));
    await chmod(path.join(folder, 'closed'), 0o755);
    expect(walked).toEqual({ found: ['a.md'], unreadable: ['closed may not be looked into by this user'] });
    await rm(folder, { recursive: true });
    expect(await walk(folder)).toEqual({ found: [], unreadable: [] });
  });
});
