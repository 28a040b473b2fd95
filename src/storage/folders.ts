import { access, constants, mkdir, open, stat, statfs } from 'node:fs/promises';
import path from 'node:path';
import { cannotWrite, systemCode } from './errors';
import { toPath } from './file-uri';

/** The folder of a destination, which may be a folder itself. */
export function localFolderOf(uri: string): string {
  const asked = toPath(uri);
  return uri.endsWith('/') ? asked : path.dirname(asked);
}

/** Makes a new name in the folder survive a power cut. @throws on Windows and some network file systems */
export async function syncFolderOrFail(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The same where folders can be synced. Best effort: the file itself is already synced. */
export async function syncFolder(folder: string): Promise<void> {
  await syncFolderOrFail(folder).catch(() => undefined);
}

/**
 * Makes a folder and its parents. Fails with ENOENT in /proc and the like, where Node's recursive mkdir hangs.
 * @param mode of the folders created.
 */
export async function makeFolder(folder: string, mode?: number): Promise<void> {
  try {
    await makeOne(folder, mode);
  } catch (error) {
    const parent = path.dirname(folder);
    if (systemCode(error) !== 'ENOENT' || parent === folder) throw error;
    await makeFolder(parent, mode);
    await makeOne(folder, mode);
  }
}

/** Succeeds if the folder exists or is created concurrently: the error code for that depends on the file system. */
async function makeOne(folder: string, mode: number | undefined): Promise<void> {
  try {
    await mkdir(folder, { mode });
    await syncFolder(path.dirname(folder));
  } catch (error) {
    const found = await stat(folder).catch(() => undefined);
    if (found?.isDirectory() !== true) throw error;
  }
}

/** Bytes that this user can still write to a folder; undefined if the file system does not say. */
export type FreeBytes = (folder: string) => Promise<number | undefined>;

/** Ignores quotas, which only show when a file is written. */
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
  bytes: number | undefined;
  freeBytes: FreeBytes;
}): Promise<void> {
  const { uri, folder, bytes, freeBytes } = options;
  const free = bytes === undefined ? undefined : await freeBytes(folder);
  if (bytes === undefined || free === undefined || bytes <= free) return;
  const why = `it takes ${bytes} bytes, and ${free} are free there. Make room.`;
  throw cannotWrite(uri, { code: 'DESTINATION_FULL', why });
}

/** Whether this process may execute a program: a full path, or a name in one of the folders. */
export async function isProgram(name: string, folders: readonly string[]): Promise<boolean> {
  for (const folder of folders) {
    const file = path.resolve(folder, name);
    const found = await access(file, constants.X_OK).then(
      () => stat(file),
      () => undefined,
    );
    if (found?.isFile()) return true;
  }
  return false;
}
