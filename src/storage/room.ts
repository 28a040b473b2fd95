import { statfs } from 'node:fs/promises';
import { StorageError } from './errors';

/** Bytes that this user can still write to a folder; undefined if the file system does not say. */
export type FreeBytes = (folder: string) => Promise<number | undefined>;

/** Quotas are not included: they only show when the file is written. */
export async function freeBytesOf(folder: string): Promise<number | undefined> {
  try {
    const { bsize, blocks, bavail, bfree } = await statfs(folder);
    // Some network mounts and in-memory file systems have no size of their own.
    if (blocks === 0) return undefined;
    return bsize * (process.getuid?.() === 0 ? bfree : bavail);
  } catch {
    return undefined;
  }
}

/** @throws StorageError `DESTINATION_FULL` if the bytes evidently do not fit. */
export async function assertRoom(options: {
  uri: string;
  folder: string;
  bytes: number;
  freeBytes: FreeBytes;
}): Promise<void> {
  const { uri, folder, bytes, freeBytes } = options;
  const free = await freeBytes(folder);
  if (free === undefined || bytes <= free) return;
  throw new StorageError({
    code: 'DESTINATION_FULL',
    message: `Cannot write ${uri}: it takes ${bytes} bytes, and ${free} are free there. Make room.`,
    uri,
  });
}
