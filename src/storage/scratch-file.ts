import { randomUUID } from 'node:crypto';
import { open, unlink, type FileHandle } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

/** A file without a name: its space is freed when it is closed, even by a kill. */
export async function openScratchFile(folder = os.tmpdir()): Promise<FileHandle> {
  const file = path.join(folder, `fileconv-${randomUUID()}`);
  const handle = await open(file, 'wx+', 0o600);
  await unlink(file);
  return handle;
}
