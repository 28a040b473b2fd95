import { mkdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { confine } from '../../src/storage/confine';
import { createLocalFiles } from '../../src/storage/local-files';
import { failureOf, listFolder, makeFolder, uriOf } from './folder';

/** A root with a file, a folder and links, some of which lead outside. */
async function confined() {
  const [root, elsewhere] = [await makeFolder(), await makeFolder()];
  await mkdir(path.join(root, 'in'));
  for (const file of [path.join(root, 'a.md'), path.join(elsewhere, 'b.md')]) await writeFile(file, '# Text');
  await symlink(elsewhere, path.join(root, 'link'));
  await symlink(path.join(elsewhere, 'b.md'), path.join(root, 'b.md'));
  await symlink(path.join(root, 'in'), path.join(root, 'inner'));
  // The root itself may be reached through a link.
  const store = confine(createLocalFiles(), [path.join(root, 'in', '..')]);
  const write = (name: string, body: AsyncIterable<Uint8Array> = Readable.from([Buffer.from('result')])) =>
    store.writeDestination({ uri: uriOf(root, name), jobKey: 'job', attempt: 1, body, onExisting: 'fail' });
  return { root, elsewhere, store, write };
}

it('reads sources inside the folders, and rejects links and URIs that lead outside', async () => {
  const { root, elsewhere, store } = await confined();
  expect((await store.openSource(uriOf(root, 'a.md'))).size).toBe(6);
  expect(await text(store.read(uriOf(root, 'a.md')))).toBe('# Text');
  for (const uri of [uriOf(root, 'b.md'), uriOf(root, 'link/b.md'), uriOf(elsewhere, 'b.md'), uriOf(root, '../x')]) {
    expect(await failureOf(store.openSource(uri))).toMatchObject({
      code: 'SOURCE_UNREADABLE',
      message: `Cannot read ${uri}: it leads out of the folders that this worker may use: ${path.join(root, 'in', '..')}.`,
    });
    await expect(text(store.read(uri))).rejects.toThrow('it leads out of');
    expect(await store.look(uri)).toMatchObject({ kind: 'none', isUnseen: true });
  }
});

it('lists a folder without entries that lead outside, and reports those', async () => {
  const { root, elsewhere, store } = await confined();
  const told: string[] = [];
  const names: string[] = [];
  for await (const file of store.walk(uriOf(root, ''), { onUnreadable: (name) => told.push(name) }))
    names.push(file.relative);
  expect([names, told]).toEqual([['a.md'], ['b.md', 'inner', 'link/b.md']]);
  await expect(store.walk(uriOf(elsewhere, ''))[Symbol.asyncIterator]().next()).rejects.toThrow('it leads out of');
});

it('writes results inside the folders, including new ones, but not through a link that leads outside', async () => {
  const { root, elsewhere, store, write } = await confined();
  for (const name of ['a.html', 'new/deep/a.html', 'inner/a.html']) {
    await write(name);
    expect(await readFile(path.join(root, name), 'utf8')).toBe('result');
  }
  for (const uri of [uriOf(root, 'link/a.html'), uriOf(root, 'link/new/a.html'), uriOf(elsewhere, 'a.html')]) {
    const asked = { uri, suggestedName: 'a.html', onExisting: 'fail' } as const;
    expect((await failureOf(store.prepareDestination(asked))).code).toBe('DESTINATION_NOT_WRITABLE');
    await expect(store.remove(uri)).rejects.toThrow('it leads out of');
  }
  expect((await failureOf(write('link/new/a.html'))).code).toBe('DESTINATION_NOT_WRITABLE');
  expect(await listFolder(elsewhere)).toEqual(['b.md']);
});

it('writes no result outside if a folder is replaced by a link during the transfer', async () => {
  const { root, elsewhere, write } = await confined();
  async function* body() {
    yield Buffer.from('res');
    await rename(path.join(root, 'in'), path.join(root, 'was'));
    await symlink(elsewhere, path.join(root, 'in'));
    yield Buffer.from('ult');
  }
  await expect(write('in/a.html', body())).rejects.toThrow();
  expect(await listFolder(elsewhere)).toEqual(['b.md']);
});
