import { mkdir, stat, open } from 'node:fs/promises';
import path from 'node:path';
import { systemErrorCode } from '../shared/system-error';

/** Makes a new name in the folder survive a power cut. Not every system lets a folder be synced; the file itself is safe by then. */
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

/**
 * Makes a folder, and those above it that are missing. Node's recursive mkdir never ends on a file system that answers ENOENT to whoever makes
 * a folder in one that exists, such as /proc; this fails with ENOENT.
 */
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

/** Whether it is there already, or somebody makes it at the same moment: what the call answers to that depends on the file system. */
async function makeOne(folder: string): Promise<void> {
  try {
    await mkdir(folder);
  } catch (error) {
    const found = await stat(folder).catch(() => undefined);
    if (found?.isDirectory() !== true) throw error;
  }
}
