import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { appendFile, chmod, mkdir, rename, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { createLocalFiles } from '../../src/storage/local-files';
import { failureOf, makeFolder, uriOf, withoutPrivileges } from './folder';

let folder: string;
beforeEach(async () => (folder = await makeFolder()));

const store = createLocalFiles();

describe('openSource', () => {
  it('returns name, size and path, and opens the bytes repeatedly', async () => {
    const content = randomBytes(2_000_000);
    const filePath = path.join(folder, 'März 1 #2.png');
    await writeFile(filePath, content);
    const source = await store.openSource(uriOf(filePath));
    expect(source).toMatchObject({ name: 'März 1 #2.png', size: content.length, path: filePath, uri: uriOf(filePath) });
    for (let time = 0; time < 2; time += 1) expect((await buffer(source.open())).equals(content)).toBe(true);
  });

  it('follows a symbolic link to a file', async () => {
    await writeFile(path.join(folder, 'real.txt'), 'content');
    await symlink('real.txt', path.join(folder, 'link.txt'));
    const source = await store.openSource(uriOf(folder, 'link.txt'));
    expect(source).toMatchObject({ name: 'link.txt', size: 7 });
    expect((await buffer(source.open())).toString()).toBe('content');
  });

  it('leaves the source unchanged', async () => {
    const filePath = path.join(folder, 'a.txt');
    await writeFile(filePath, 'content');
    const before = await stat(filePath);
    await buffer((await store.openSource(uriOf(filePath))).open());
    const { mode, mtimeMs, size } = await stat(filePath);
    expect({ mode, mtimeMs, size }).toEqual({ mode: before.mode, mtimeMs: before.mtimeMs, size: before.size });
  });

  it.each([
    'http://example.com/a.txt',
    '/tmp/a.txt',
    'a.txt',
    's3://bucket/a',
    'file://host/a',
    'file:///a%2Fb',
    'file:///a%00b',
    '',
  ])('rejects %j, which is not the URI of a local file', async (uri) => {
    expect((await failureOf(store.openSource(uri))).code).toBe('UNSUPPORTED_URI');
  });

  it('treats a file in place of a folder as a missing source', async () => {
    await writeFile(path.join(folder, 'a'), 'x');
    expect((await failureOf(store.openSource(uriOf(folder, 'a', 'b')))).code).toBe('SOURCE_NOT_FOUND');
  });

  it('rejects folders, empty files, and anything that is not a regular file', async () => {
    await writeFile(path.join(folder, 'empty'), '');
    await mkdir(path.join(folder, 'folder'));
    execFileSync('mkfifo', [path.join(folder, 'pipe')]);
    expect((await failureOf(store.openSource(uriOf(folder, 'empty')))).code).toBe('SOURCE_EMPTY');
    expect((await failureOf(store.openSource(uriOf(folder, 'folder')))).code).toBe('SOURCE_IS_DIRECTORY');
    expect((await failureOf(store.openSource(uriOf(folder, 'pipe')))).code).toBe('SOURCE_UNREADABLE');
    expect((await failureOf(store.openSource('file:///dev/zero'))).code).toBe('SOURCE_UNREADABLE');
    // A list or a manifest that is a pipe could never be read either, since the worker reads it.
    expect((await failureOf(buffer(store.read(uriOf(folder, 'pipe'))))).code).toBe('SOURCE_UNREADABLE');
  });

  it('rejects a file that this user may not read', async () => {
    await chmod(folder, 0o755);
    await writeFile(path.join(folder, 'secret'), 'x');
    await chmod(path.join(folder, 'secret'), 0o000);
    const error = await withoutPrivileges(() => failureOf(store.openSource(uriOf(folder, 'secret'))));
    expect(error.code).toBe('SOURCE_UNREADABLE');
  });

  it('rejects symbolic links in a loop', async () => {
    await symlink('b', path.join(folder, 'a'));
    await symlink('a', path.join(folder, 'b'));
    expect((await failureOf(store.openSource(uriOf(folder, 'a')))).code).toBe('SOURCE_UNREADABLE');
  });
});

describe('a source that has changed', () => {
  const longAgo = 1_000_000_000;
  const changes: [string, (filePath: string) => Promise<void>][] = [
    ['grew', (filePath) => appendFile(filePath, 'more')],
    ['shrank', (filePath) => writeFile(filePath, 'less')],
    ['was written again with as many bytes', (filePath) => writeFile(filePath, Buffer.alloc(2_000_000, 'y'))],
    ['was touched', (filePath) => utimes(filePath, 1, 1)],
    [
      'was replaced',
      async (filePath) => {
        await writeFile(`${filePath}.new`, Buffer.alloc(2_000_000, 'x'));
        await utimes(`${filePath}.new`, longAgo, longAgo);
        await rename(`${filePath}.new`, filePath);
      },
    ],
  ];

  it.each(changes)('fails to open when it %s', async (_how, change) => {
    const filePath = path.join(folder, 'a');
    await writeFile(filePath, Buffer.alloc(2_000_000, 'x'));
    await utimes(filePath, longAgo, longAgo);
    const source = await store.openSource(uriOf(filePath));
    await change(filePath);
    expect(await failureOf(buffer(source.open()))).toMatchObject({ code: 'SOURCE_CHANGED', retryable: true });
  });

  it('fails at its end when it was written to during the read', async () => {
    const filePath = path.join(folder, 'a');
    await writeFile(filePath, Buffer.alloc(2_000_000, 'x'));
    const stream = (await store.openSource(uriOf(filePath))).open();
    let changed = false;
    const reading = (async () => {
      for await (const chunk of stream as AsyncIterable<Buffer>) {
        expect(chunk.length).toBeGreaterThan(0);
        if (!changed) await appendFile(filePath, 'more');
        changed = true;
      }
    })();
    expect((await failureOf(reading)).code).toBe('SOURCE_CHANGED');
  });

  it('is not found when it was removed', async () => {
    await writeFile(path.join(folder, 'a'), 'x');
    const source = await store.openSource(uriOf(folder, 'a'));
    await rm(path.join(folder, 'a'));
    expect((await failureOf(buffer(source.open()))).code).toBe('SOURCE_NOT_FOUND');
  });
});
