import { randomBytes } from 'node:crypto';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { createLocalFiles } from '../../src/storage/local-files';
import { cleanUp, failureOf, listFolder, makeFolder, mountMemory, sha256, uriOf, withoutPrivileges } from './folder';
import { contentThen, endless, write } from './writing';

let folder: string;
beforeEach(async () => (folder = await makeFolder()));
afterEach(cleanUp);

describe('writeDestination', () => {
  it('stores the bytes, creates missing folders, and returns size and SHA-256', async () => {
    const content = randomBytes(3_000_001);
    const body = Readable.from([content.subarray(0, 1), content.subarray(1, 2_000_000), content.subarray(2_000_000)]);
    expect(await write(uriOf(folder, 'a', 'b', 'out.pdf'), { body, expectedSize: content.length })).toEqual({
      uri: uriOf(folder, 'a', 'b', 'out.pdf'),
      name: 'out.pdf',
      bytes: content.length,
      sha256: sha256(content),
      skipped: false,
    });
    expect((await readFile(path.join(folder, 'a', 'b', 'out.pdf'))).equals(content)).toBe(true);
    expect(await listFolder(path.join(folder, 'a', 'b'))).toEqual(['out.pdf']);
  });

  it('stores an empty file if the body is empty', async () => {
    expect(await write(uriOf(folder, 'out'), { body: Readable.from([]), expectedSize: 0 })).toMatchObject({ bytes: 0 });
    expect(await listFolder(folder)).toEqual(['out']);
  });

  it('accepts a name of 255 bytes, although the temporary name would be longer', async () => {
    const name = `${'発'.repeat(83)}.pdf00`;
    expect(Buffer.byteLength(name)).toBe(255);
    expect(await write(uriOf(folder, name))).toMatchObject({ name });
    expect(await listFolder(folder)).toEqual([name]);
  });

  it('stops a body that is longer than expected', async () => {
    const body = endless();
    expect((await failureOf(write(uriOf(folder, 'out'), { body, expectedSize: 5000 }))).code).toBe('SIZE_MISMATCH');
    expect(body.destroyed).toBe(true);
  });

  it.each(['before the call', 'before its first byte'])(
    'passes on the error of a body that failed %s',
    async (when) => {
      const broken = new Error('connection reset');
      const body = new Readable({ read: () => undefined });
      if (when === 'before the call') body.on('error', () => undefined).destroy(broken);
      await new Promise((resolve) => setTimeout(resolve, 10));
      const writing = write(uriOf(folder, 'out.pdf'), { body });
      body.destroy(broken);
      await expect(writing).rejects.toBe(broken);
      expect(await listFolder(folder)).toEqual([]);
    },
  );

  it('ends with the reason of the signal when aborted during the transfer, and keeps nothing', async () => {
    const body = endless();
    const signal = AbortSignal.timeout(30);
    const error: unknown = await write(uriOf(folder, 'out.pdf'), { body, signal }).catch((reason: unknown) => reason);
    expect(error).toBe(signal.reason);
    expect(body.destroyed).toBe(true);
    expect(await listFolder(folder)).toEqual([]);
  });

  it('ends with the reason of the signal when aborted while the body is silent', async () => {
    const body = new Readable({ read: () => undefined });
    const signal = AbortSignal.timeout(30);
    const error: unknown = await write(uriOf(folder, 'out.pdf'), { body, signal }).catch((reason: unknown) => reason);
    expect(error).toBe(signal.reason);
    expect(await listFolder(folder)).toEqual([]);
  });

  it('does not give the final name once the signal is aborted', async () => {
    const stop = new AbortController();
    const reason = new Error('cancelled');
    const body = contentThen(() => stop.abort(reason));
    await expect(write(uriOf(folder, 'out.pdf'), { signal: stop.signal, body })).rejects.toBe(reason);
    expect(await listFolder(folder)).toEqual([]);
  });

  it("closes the body even if it can't start to write", async () => {
    await writeFile(path.join(folder, 'file'), 'x');
    const body = endless();
    expect((await failureOf(write(uriOf(folder, 'file', 'out.pdf'), { body }))).code).toBe('DESTINATION_NOT_WRITABLE');
    expect(body.destroyed).toBe(true);
  });

  it('reports a folder that is not writable', async () => {
    await chmod(folder, 0o555);
    const error = await withoutPrivileges(() => failureOf(write(uriOf(folder, 'out.pdf'))));
    expect(error).toMatchObject({ code: 'DESTINATION_NOT_WRITABLE', retryable: false });
  });

  it('does not start to write if there is not enough room', async () => {
    const files = createLocalFiles({ freeBytes: () => Promise.resolve(10) });
    const body = Readable.from([Buffer.from('new content')]);
    const error = await failureOf(write(uriOf(folder, 'out.pdf'), { body, expectedSize: 11 }, files));
    expect([error.code, body.destroyed]).toEqual(['DESTINATION_FULL', true]);
    expect(await listFolder(folder)).toEqual([]);
    expect(await write(uriOf(folder, 'out.pdf'), {}, files)).toMatchObject({ bytes: 11 });
  });

  it('reports a full disk, and keeps nothing', async () => {
    const mounted = await mountMemory('size=1m');
    if (mounted === undefined) {
      console.warn('skipped: this user may not mount a file system');
      return;
    }
    const body = Readable.from([Buffer.alloc(700_000), Buffer.alloc(700_000), Buffer.alloc(700_000)]);
    const error = await failureOf(write(uriOf(mounted, 'out.pdf'), { body }));
    expect(error).toMatchObject({ code: 'DESTINATION_FULL', cause: { code: 'ENOSPC' } });
    expect(error.message).toContain('no space is left');
    expect(await listFolder(mounted)).toEqual([]);
  });
});
