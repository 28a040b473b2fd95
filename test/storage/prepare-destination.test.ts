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
  it('refuses a path beside which no temporary file would fit, before anything is sent for it', async () => {
    const ofBytes = (bytes: number) => {
      const names = Array.from({ length: 19 }, () => 'd'.repeat(199));
      return uriOf(folder, ...names, 'x'.repeat(bytes - path.join(folder, ...names).length - 1));
    };
    expect(await prepare(ofBytes(4_063))).toMatchObject({ kind: 'write' });
    const refused = await failureOf(prepare(ofBytes(4_064)));
    expect(refused).toMatchObject({ code: 'DESTINATION_NOT_WRITABLE', retryable: false });
  });

  it('takes a symbolic link that leads nowhere for something that exists', async () => {
    await symlink('/nowhere/at/all', path.join(folder, 'out.pdf'));
    expect((await failureOf(prepare(uriOf(folder, 'out.pdf')))).code).toBe('DESTINATION_EXISTS');
  });

  it.each(['fail', 'skip', 'overwrite'] as const)(
    'refuses a folder in the file’s place with policy %s',
    async (onExisting) => {
      await mkdir(path.join(folder, 'out.pdf'));
      const error = await failureOf(prepare(uriOf(folder, 'out.pdf'), onExisting));
      expect(error.code).toBe('DESTINATION_IS_DIRECTORY');
      expect(error.message).toContain('end it with /');
    },
  );

  it('refuses a file, or a link that leads nowhere, in a folder’s place', async () => {
    await writeFile(path.join(folder, 'file'), 'x');
    await symlink('/nowhere/at/all', path.join(folder, 'link'));
    for (const name of ['file', 'link']) {
      const error = await failureOf(prepare(uriOf(folder, name, 'deeper', 'out.pdf')));
      expect(error.code).toBe('DESTINATION_NOT_WRITABLE');
    }
  });

  it('is not misled by a folder that another job makes while it looks', async () => {
    for (let round = 0; round < 48; round += 1) {
      const target = path.join(folder, String(round));
      const plans = Array.from({ length: 16 }, (_, index) => prepare(uriOf(target, `${index}.pdf`)));
      // Sooner or later within their looks.
      for (let turns = round % 8; turns > 0; turns -= 1) await setImmediate();
      await mkdir(target);
      expect((await Promise.all(plans)).map(({ kind }) => kind)).toEqual(Array(16).fill('write'));
    }
  });

  it('refuses a name that the file system cannot hold', async () =>
    expect((await failureOf(prepare(uriOf(folder, 'x'.repeat(256))))).code).toBe('DESTINATION_NOT_WRITABLE'));

  const isRoot = process.getuid?.() === 0;
  (isRoot ? it.skip : it)('refuses a folder that this user may not write to (not as root, who may)', async () => {
    await chmod(folder, 0o555);
    const error = await failureOf(prepare(uriOf(folder, 'new', 'out.pdf')));
    await chmod(folder, 0o755);
    expect(error.code).toBe('DESTINATION_NOT_WRITABLE');
  });

  it('refuses what evidently finds no room, in the nearest folder that there is, and believes a file system that does not tell', async () => {
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
    // Of this machine's own disk.
    expect(
      (await failureOf(store.prepareDestination({ uri, suggestedName: '', onExisting: 'fail', expectedBytes: 1e18 })))
        .code,
    ).toBe('DESTINATION_FULL');
    expect(await store.prepareDestination({ uri, suggestedName: '', onExisting: 'fail', expectedBytes: 1 })).toEqual({
      kind: 'write',
      uri,
    });
  });

  it('refuses a read-only file system', async () => {
    const mounted = await mountMemory('ro,size=1m');
    if (mounted === undefined) {
      console.warn('skipped: this user may not mount a file system');
      return;
    }
    const error = await failureOf(prepare(uriOf(mounted, 'new', 'out.pdf')));
    expect(error).toMatchObject({ code: 'DESTINATION_NOT_WRITABLE', cause: { code: 'EROFS' } });
  });
});
