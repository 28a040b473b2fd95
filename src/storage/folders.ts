import { mkdir, stat, open } from 'node:fs/promises';
import path from 'node:path';
import { systemErrorCode } from '../shared/system-error';

/** Makes a new name in the folder survive a power cut, where the system can sync a folder; the file itself is safe. */
export async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch {
    // Windows and some network file systems.
  }
}

/** Makes a folder and its parents. Fails with ENOENT in /proc and the like, where Node's recursive mkdir hangs. */
export async function makeFolder(folder: string): Promise<void> {
  try {
    await makeOne(folder);
  } catch (error) {
    const parent = path.dirname(folder);
    if (systemErrorCode(error) !== 'ENOENT' || parent === folder) throw error;
    await makeFolder(parent);
    await makeOne(folder);
  }
}

/** Succeeds if the folder exists or is created concurrently; the error for that depends on the file system. */
async function makeOne(folder: string): Promise<void> {
  try {
    await mkdir(folder);
  } catch (error) {
    const found = await stat(folder).catch(() => undefined);
    if (found?.isDirectory() !== true) throw error;
  }
}
