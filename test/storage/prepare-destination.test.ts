import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { OnExisting } from '../../src/job/policies';
import { createLocalFiles } from '../../src/storage/local-files';
import { cleanUp, failureOf, makeFolder, mountMemory, uriOf } from './folder';

let folder: string;
beforeEach(async () => (folder = await makeFolder()));
afterEach(cleanUp);

const store = createLocalFiles();

const prepare = (uri: string, onExisting: OnExisting = 'fail') =>
  store.prepareDestination({ uri, suggestedName: 'out.pdf', onExisting });

describe('prepareDestination', () => {
  it('rejects a path that is too long for the temporary file beside it, before anything is sent', async () => {
    const ofBytes = (bytes: number) => {
      const names = Array.from({ length: 19 }, () => 'd'.repeat(199));
      return uriOf(folder, ...names, 'x'.repeat(bytes - path.join(folder, ...names).length - 1));
    };
    expect(await prepare(ofBytes(4_063))).toMatchObject({ kind: 'write' });
    const refused = await failureOf(prepare(ofBytes(4_064)));
    expect(refused).toMatchObject({ code: 'DESTINATION_NOT_WRITABLE', retryable: false });
  });

  it('treats a symbolic link that leads nowhere as existing', async () => {
    await symlink('/nowhere/at/all', path.join(folder, 'out.pdf'));
    expect((await failureOf(prepare(uriOf(folder, 'out.pdf')))).code).toBe('DESTINATION_EXISTS');
  });

  it.each(['fail', 'skip', 'overwrite'] as const)(
    'rejects a folder in place of the file under policy %s',
    async (onExisting) => {
      await mkdir(path.join(folder, 'out.pdf'));
      const error = await failureOf(prepare(uriOf(folder, 'out.pdf'), onExisting));
      expect(error.code).toBe('DESTINATION_IS_DIRECTORY');
      expect(error.message).toContain('end it with /');
    },
  );

  it('rejects a file, or a link that leads nowhere, in place of a folder', async () => {
    await writeFile(path.join(folder, 'file'), 'x');
    await symlink('/nowhere/at/all', path.join(folder, 'link'));
    for (const name of ['file', 'link']) {
      const error = await failureOf(prepare(uriOf(folder, name, 'deeper', 'out.pdf')));
      expect(error.code).toBe('DESTINATION_NOT_WRITABLE');
    }
  });

  it('is not confused by a folder that another job creates at the same time', async () => {
    for (let round = 0; round < 48; round += 1) {
      const target = path.join(folder, String(round));
      const plans = Array.from({ length: 16 }, (_, index) => prepare(uriOf(target, `${index}.pdf`)));
      // Varies when the folder appears relative to the looks.
      for (let turns = round % 8; turns > 0; turns -= 1) await setImmediate();
      await mkdir(target);
      expect((await Promise.all(plans)).map(({ kind }) => kind)).toEqual(Array(16).fill('write'));
    }
  });

  it('rejects a name that is too long for the file system', async () =>
    expect((await failureOf(prepare(uriOf(folder, 'x'.repeat(256))))).code).toBe('DESTINATION_NOT_WRITABLE'));

  const isRoot = process.getuid?.() === 0;
  (isRoot ? it.skip : it)('refuses a folder that this user may not write to (not as root, who may)', async () => {
    await chmod(folder, 0o555);
    const error = await failureOf(prepare(uriOf(folder, 'new', 'out.pdf')));
    await chmod(folder, 0o755);
    expect(error.code).toBe('DESTINATION_NOT_WRITABLE');
  });

  it('rejects a file without enough room in the nearest existing folder, and accepts one if the free space is unknown', async () => {
    const uri = uriOf(folder, 'new', 'deeper', 'out.pdf');
    const prepareIn = (free: number | undefined, expectedBytes: number | undefined) =>
      createLocalFiles({
        freeBytes: (asked) => Promise.resolve(asked === folder ? free : 0),
      }).prepareDestination({ uri, suggestedName: '', onExisting: 'fail', expectedBytes });
    const error = await failureOf(prepareIn(99, 100));
    expect(error).toMatchObject({ code: 'DESTINATION_FULL', uri });
    expect(error.message).toMatch(/it takes 100 bytes, and 99 are free there\. Make room\.$/);
    for (const [free, bytes] of [
      [100, 100],
      [undefined, 100],
      [0, undefined],
    ] as const) {
      expect(await prepareIn(free, bytes)).toEqual({ kind: 'write', uri });
    }
    // The real disk of this machine.
    expect(
      (await failureOf(store.prepareDestination({ uri, suggestedName: '', onExisting: 'fail', expectedBytes: 1e18 })))
        .code,
    ).toBe('DESTINATION_FULL');
    expect(await store.prepareDestination({ uri, suggestedName: '', onExisting: 'fail', expectedBytes: 1 })).toEqual({
      kind: 'write',
      uri,
    });
  });

  it('rejects a read-only file system', async () => {
    const mounted = await mountMemory('ro,size=1m');
    if (mounted === undefined) {
      console.warn('skipped: this user may not mount a file system');
      return;
    }
    const error = await failureOf(prepare(uriOf(mounted, 'new', 'out.pdf')));
    expect(error).toMatchObject({ code: 'DESTINATION_NOT_WRITABLE', cause: { code: 'EROFS' } });
  });
});
