import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { replaceFile } from 'temporal-file-conversion/storage';
import type { z } from 'zod';

/** A file that describes a running process to others. An unreadable one counts as none. */
export function recordFile<Value>(name: string, schema: z.ZodType<Value>) {
  const fileIn = (folder: string) => path.join(folder, name);
  return {
    read: async (folder: string): Promise<Value | undefined> => {
      try {
        return schema.parse(JSON.parse(await readFile(fileIn(folder), 'utf8')));
      } catch {
        return undefined;
      }
    },
    write: (folder: string, value: Value): Promise<void> =>
      replaceFile(fileIn(folder), `${JSON.stringify(value, undefined, 2)}\n`),
    // Best effort, so that it hides no other failure: a record that stays names a dead process, and counts as none.
    remove: (folder: string): Promise<void> => rm(fileIn(folder), { force: true }).catch(() => undefined),
  };
}
