import {
  closeSync,
  constants,
  copyFileSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { systemErrorCode } from 'temporal-file-conversion/messages';
import { CommandError } from '../command-error';

/** Appends to a log file. Writes are synchronous, so the last lines before a crash are kept. A full disk loses lines, no more. */
export function openLogFile(file: string): { write(line: string): boolean; close(): void } {
  let handle: number | undefined = openForLog(file);
  return {
    write(line) {
      try {
        return handle !== undefined && writeSync(handle, line) > 0;
      } catch (error) {
        if (['ENOSPC', 'EDQUOT', 'EIO'].includes(systemErrorCode(error) ?? '')) return false;
        throw error;
      }
    },
    close() {
      if (handle !== undefined) closeSync(handle);
      // The descriptor may be reused by the time of a late write.
      handle = undefined;
    },
  };
}

/** Only the owner can read it. Follows no link, which could lead to any file of the user. */
export function openForLog(file: string): number {
  try {
    return openSync(file, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
  } catch (error) {
    if (systemErrorCode(error) !== 'ELOOP') throw error;
    const problem = `${file} is a link, and no log is written through one. Remove it, and start again.`;
    throw new CommandError('STATE_UNUSABLE', [problem], { cause: error });
  }
}

/** Limit of a log file; with its predecessor it takes twice that. */
export const maxLogBytes = 16 * 1024 * 1024;
const checkMs = 60_000;

/** Keeps the logs of a folder small until the returned function is called. */
export function boundLogs(folder: string, intervalMs = checkMs): () => void {
  cutLogs(folder);
  const timer = setInterval(() => cutLogs(folder), intervalMs).unref();
  return () => clearInterval(timer);
}

/** Copies a log that is too long and truncates it; writers append, so they go on at the beginning. */
function cutLogs(folder: string): void {
  for (const name of readdirSync(folder)) {
    const file = path.join(folder, name);
    try {
      if (!name.endsWith('.log') || statSync(file).size <= maxLogBytes) continue;
      rmSync(`${file}.previous`, { force: true });
      copyFileSync(file, `${file}.previous`, constants.COPYFILE_EXCL);
      truncateSync(file);
    } catch (error) {
      // Without room for a copy there is none for a longer log either.
      if (['ENOSPC', 'EDQUOT'].includes(systemErrorCode(error) ?? '')) truncateSync(file);
    }
  }
}
