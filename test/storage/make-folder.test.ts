import { stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { makeFolder } from '../../src/storage/folders';
import { failureOf, makeFolder as newFolder, uriOf } from './folder';
import { write } from './writing';

describe('a folder', () => {
  it('is created with its parents by many concurrent callers, and stays if it exists', async () => {
    const folder = path.join(await newFolder(), 'a', 'b', 'c');
    await Promise.all(Array.from({ length: 20 }, (_, index) => makeFolder(path.join(folder, String(index % 3)))));
    await makeFolder(folder);
    await makeFolder(`${folder}${path.sep}`);
    await makeFolder(path.parse(folder).root);
    expect((await stat(path.join(folder, '2'))).isDirectory()).toBe(true);
  });

  it('is created behind a symbolic link', async () => {
    const folder = await newFolder();
    await symlink(await newFolder(), path.join(folder, 'link'));
    await makeFolder(path.join(folder, 'link', 'a', 'b'));
    expect((await stat(path.join(folder, 'link', 'a', 'b'))).isDirectory()).toBe(true);
  });

  it('is not created from a file, nor from a link that leads nowhere', async () => {
    const folder = await newFolder();
    await writeFile(path.join(folder, 'file'), '');
    await symlink('nowhere', path.join(folder, 'link'));
    await expect(makeFolder(path.join(folder, 'file'))).rejects.toMatchObject({ code: 'EEXIST' });
    await expect(makeFolder(path.join(folder, 'file', 'a', 'b'))).rejects.toMatchObject({ code: 'ENOTDIR' });
    await expect(makeFolder(path.join(folder, 'link', 'a'))).rejects.toMatchObject({ code: 'EEXIST' });
  });
});

const onLinux = process.platform === 'linux' ? it : it.skip;

onLinux('a destination where no folder can be made, although its parent is there, fails at once', async () => {
  for (const uri of [uriOf('/proc', 'nope', 'out.pdf'), uriOf('/proc', 'nope', 'deeper', 'out.pdf')]) {
    const failure = await failureOf(write(uri));
    expect(failure).toMatchObject({ code: 'DESTINATION_NOT_WRITABLE', retryable: false });
    expect(failure.message).toBe(`Cannot write ${uri}: its folder was removed, or cannot be made.`);
  }
});
