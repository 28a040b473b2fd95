import { randomUUID } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';

/** Gives a file new content, whole or not at all: whoever reads it, also after a power cut, finds the old content or the new one. */
export async function replaceFile(filePath: string, content: string, { mode = 0o666 } = {}): Promise<void> {
  const partial = `${filePath}.${randomUUID()}.part`;
  try {
    const handle = await open(partial, 'wx', mode);
    try {
      await handle.writeFile(content);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(partial, filePath);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}
