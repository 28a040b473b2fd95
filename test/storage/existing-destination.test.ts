import { linkSync } from 'node:fs';
import { lstat, mkdir, readFile, readlink, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { createLocalFiles } from '../../src/storage/local-files';
import { PartialFile } from '../../src/storage/partial-file';
import { failureOf, listFolder, makeFolder, sha256, uriOf } from './folder';
import { contentThen, store, write } from './writing';

let folder: string;
beforeEach(async () => (folder = await makeFolder()));

const withoutLinks = createLocalFiles({
  link: () => Promise.reject(Object.assign(new Error('link'), { code: 'ENOTSUP' })),
});

describe('an existing destination', () => {
  async function withExisting() {
    await writeFile(path.join(folder, 'out.pdf'), 'old content');
    return { uri: uriOf(folder, 'out.pdf'), read: (name: string) => readFile(path.join(folder, name), 'utf8') };
  }

  it('is replaced atomically under policy overwrite', async () => {
    const { uri, read } = await withExisting();
    let during: string | undefined;
    await write(uri, { onExisting: 'overwrite', body: contentThen(async () => void (during = await read('out.pdf'))) });
    expect(during).toBe('old content');
    expect([await read('out.pdf'), await listFolder(folder)]).toEqual(['new content', ['out.pdf']]);
  });

  it('gets a neighbour with the next free number under policy rename', async () => {
    const { uri, read } = await withExisting();
    await writeFile(path.join(folder, 'out (1).pdf'), 'another');
    const stored = await write(uri, { onExisting: 'rename' });
    expect(stored).toMatchObject({ name: 'out (2).pdf', uri: uriOf(folder, 'out (2).pdf'), skipped: false });
    expect(await read('out (2).pdf')).toBe('new content');
    expect(await listFolder(folder)).toEqual(['out (1).pdf', 'out (2).pdf', 'out.pdf']);
  });

  it('gets a neighbour even if it is a folder', async () => {
    await mkdir(path.join(folder, 'out.pdf'));
    expect(await write(uriOf(folder, 'out.pdf'), { onExisting: 'rename' })).toMatchObject({ name: 'out (1).pdf' });
  });

  it("can't be overwritten if it is a folder", async () => {
    await mkdir(path.join(folder, 'out.pdf'));
    const error = await failureOf(write(uriOf(folder, 'out.pdf'), { onExisting: 'overwrite' }));
    expect([error.code, await listFolder(folder)]).toEqual(['DESTINATION_IS_DIRECTORY', ['out.pdf']]);
  });

  it('is replaced itself if it is a symbolic link; the target of the link is not touched', async () => {
    await writeFile(path.join(folder, 'target'), 'precious');
    await symlink('target', path.join(folder, 'out.pdf'));
    await write(uriOf(folder, 'out.pdf'), { onExisting: 'overwrite' });
    expect((await lstat(path.join(folder, 'out.pdf'))).isFile()).toBe(true);
    expect(await readFile(path.join(folder, 'target'), 'utf8')).toBe('precious');
  });

  it('is not written through under policy fail if it is a symbolic link to nowhere', async () => {
    await symlink('elsewhere', path.join(folder, 'out.pdf'));
    expect((await failureOf(write(uriOf(folder, 'out.pdf')))).code).toBe('DESTINATION_EXISTS');
    expect(await readlink(path.join(folder, 'out.pdf'))).toBe('elsewhere');
    expect(await listFolder(folder)).toEqual(['out.pdf']);
  });

  it.each(['with hard links', 'without hard links'])(
    'loses no result of 20 concurrent writers under policy rename (%s)',
    async (kind) => {
      const stored = await Promise.all(
        Array.from({ length: 20 }, (_, number) =>
          write(
            uriOf(folder, 'out.pdf'),
            { jobKey: `job-${number}`, onExisting: 'rename', body: Readable.from([Buffer.from(`content ${number}`)]) },
            kind === 'with hard links' ? store : withoutLinks,
          ),
        ),
      );
      expect(new Set(stored.map(({ name }) => name)).size).toBe(20);
      expect(await listFolder(folder)).toHaveLength(20);
      for (const { name, sha256: digest } of stored)
        expect(sha256(await readFile(path.join(folder, name)))).toBe(digest);
    },
  );
});

describe('a file system without hard links', () => {
  it.each(['EPERM', 'ENOTSUP', 'ENOSYS'])('still gives the final name atomically (%s)', async (code) => {
    const files = createLocalFiles({ link: () => Promise.reject(Object.assign(new Error('link'), { code })) });
    expect(await write(uriOf(folder, 'out.pdf'), {}, files)).toMatchObject({ name: 'out.pdf', bytes: 11 });
    expect(await readFile(path.join(folder, 'out.pdf'), 'utf8')).toBe('new content');
    expect(await listFolder(folder)).toEqual(['out.pdf']);
  });

  it.each(['fail', 'skip', 'rename'] as const)(
    'takes over the placeholder of its own killed attempt, but not of another job (%s)',
    async (onExisting) => {
      const uri = uriOf(folder, 'out.pdf');
      const leavePlaceholder = async (jobKey: string) => {
        const partial = await PartialFile.create({ uri, filePath: path.join(folder, 'out.pdf'), jobKey, attempt: 1 });
        await writeFile(path.join(folder, 'out.pdf'), partial.placeholder);
        await partial.handle.close();
      };
      await leavePlaceholder('job-1');
      for (const files of [store, withoutLinks]) {
        expect(await write(uri, { attempt: 2, onExisting }, files)).toMatchObject({ name: 'out.pdf', skipped: false });
        expect(await readFile(path.join(folder, 'out.pdf'), 'utf8')).toBe('new content');
        expect(await listFolder(folder)).toEqual(['out.pdf']);
        await leavePlaceholder('job-1');
      }
      await leavePlaceholder('job-2');
      expect(await write(uri, { attempt: 2, onExisting }, withoutLinks).catch((error: unknown) => error)).toMatchObject(
        { fail: { code: 'DESTINATION_EXISTS' }, skip: { skipped: true }, rename: { name: 'out (1).pdf' } }[onExisting],
      );
    },
  );

  it('is not assumed when a link fails for another reason', async () => {
    const files = createLocalFiles({ link: () => Promise.reject(Object.assign(new Error('link'), { code: 'EIO' })) });
    expect(await failureOf(write(uriOf(folder, 'out.pdf'), {}, files))).toMatchObject({
      code: 'STORAGE_FAILED',
      retryable: true,
    });
    expect(await listFolder(folder)).toEqual([]);
  });
});

it('creates no second name if a network file system loses an answer and then refuses the repeated link', async () => {
  const files = createLocalFiles({
    link(from, to) {
      linkSync(from, to);
      linkSync(from, to);
    },
  });
  expect(await write(uriOf(folder, 'out.pdf'), { onExisting: 'rename' }, files)).toMatchObject({ name: 'out.pdf' });
  expect(await listFolder(folder)).toEqual(['out.pdf']);
});

it('a later attempt recognises its own file among numbered neighbours', async () => {
  await writeFile(path.join(folder, 'out.pdf'), 'old content');
  const uri = uriOf(folder, 'out.pdf');
  await write(uri, { onExisting: 'rename' });
  expect(await write(uri, { onExisting: 'rename', attempt: 2 })).toMatchObject({ name: 'out (1).pdf' });
  expect(await listFolder(folder)).toEqual(['out (1).pdf', 'out.pdf']);
});
