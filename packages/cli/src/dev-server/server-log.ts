import { mkdir, mkdtemp, open, readFile, rename, rm } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

/** Where a server's output goes. A file, not a pipe: the server may outlive us, and a pipe without a reader ends it. */
export interface ServerLog {
  file: string;
  handle: FileHandle;
  /** The last lines, for an error message. */
  tail(): Promise<string[]>;
  /** Closes our end, and removes the file if nobody asked for one. */
  dispose(): Promise<void>;
}

const tailLines = 8;

/** A fresh log; the one of the run before stays beside it as `<file>.previous`. */
export async function openServerLog(wanted?: string): Promise<ServerLog> {
  const folder = wanted === undefined ? await mkdtemp(path.join(os.tmpdir(), 'temporal-server-')) : undefined;
  const file = wanted ?? path.join(folder ?? '', 'temporal.log');
  await mkdir(path.dirname(file), { recursive: true });
  await rename(file, `${file}.previous`).catch(() => undefined);
  const handle = await open(file, 'a');
  return {
    file,
    handle,
    async tail() {
      const text = await readFile(file, 'utf8').catch(() => '');
      return text
        .split('\n')
        .filter((line) => line.trim() !== '')
        .slice(-tailLines);
    },
    async dispose() {
      await handle.close();
      if (folder !== undefined) await rm(folder, { recursive: true, force: true });
    },
  };
}
