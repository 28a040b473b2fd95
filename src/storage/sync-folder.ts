import { open } from 'node:fs/promises';

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
