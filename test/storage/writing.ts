import { lstat } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import type { FileStore, StoredFile, WriteDestinationOptions } from '../../src/storage/file-store';
import { createLocalFiles } from '../../src/storage/local-files';
import { listFolder, onCleanUp } from './folder';

export const store = createLocalFiles();

export const write = (
  uri: string,
  options: Partial<WriteDestinationOptions> = {},
  files: FileStore = store,
): Promise<StoredFile> =>
  files.writeDestination({
    uri,
    jobKey: 'job-1',
    attempt: 1,
    body: Readable.from([Buffer.from('new content')]),
    onExisting: 'fail',
    ...options,
  });

/** A body that runs `act` between its last byte and its end. */
export const contentThen = (act: () => unknown): Readable =>
  Readable.from(
    (async function* () {
      yield Buffer.from('new content');
      await act();
    })(),
  );

export function endless(): Readable {
  const body = new Readable({
    read() {
      setTimeout(() => this.push(Buffer.alloc(1000)), 1);
    },
  });
  onCleanUp(() => void body.destroy());
  return body;
}

/** Waits until a write has begun: a non-empty temporary file exists, other than the one seen before. */
export async function begun(folder: string, otherThanIno = 0): Promise<{ name: string; ino: number }> {
  for (;;) {
    for (const name of await listFolder(folder)) {
      if (!name.endsWith('.part')) continue;
      // A later attempt removes the file of the earlier one.
      const found = await lstat(path.join(folder, name)).catch(() => undefined);
      if (found && found.size > 0 && found.ino !== otherThanIno) return { name, ino: found.ino };
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
