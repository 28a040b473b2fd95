import { createHash } from 'node:crypto';
import { fstatSync, lstatSync } from 'node:fs';
import { lstat, open, readdir, unlink, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { cannotWrite, destinationFailure, systemCode } from './errors';
import { cutToBytes, maxNameBytes } from './file-name';

/** Names a temporary file, by destination and attempt. */
export interface PartialIdentity {
  readonly uri: string;
  readonly filePath: string;
  readonly jobKey: string;
  readonly attempt: number;
}

/**
 * The temporary file of one attempt, in the destination's folder so that the final step is a rename. Its name depends only on
 * destination, job and attempt, so that the next attempt finds the file of a killed worker.
 */
export class PartialFile {
  readonly path: string;
  readonly handle: FileHandle;
  /** Content of the file that briefly reserves the final name on file systems without hard links. Unique to the job. */
  readonly placeholder: string;
  readonly #uri: string;
  #isInPlace = false;

  private constructor(fields: { path: string; handle: FileHandle; uri: string; mark: string }) {
    this.path = fields.path;
    this.handle = fields.handle;
    this.placeholder = `fileconv puts a file here (${fields.mark})\n`;
    this.#uri = fields.uri;
  }

  static async create({ uri, filePath, jobKey, attempt }: PartialIdentity): Promise<PartialFile> {
    const folder = path.dirname(filePath);
    const mark = markOf(jobKey);
    const suffix = `.${mark}.${attempt}.part`;
    const name = `.${cutToBytes(path.basename(filePath), maxNameBytes - suffix.length - 1)}${suffix}`;
    const partialPath = path.join(folder, name);
    return new PartialFile({ path: partialPath, handle: await createAnew(partialPath), uri, mark });
  }

  /** Call when the file has its final name, so that `discard` keeps it. */
  markInPlace(): void {
    this.#isInPlace = true;
  }

  /** Whether this path names the same file. Synchronous, because nothing may be awaited during the commit. */
  isAlso(filePath: string): boolean {
    const mine = fstatSync(this.handle.fd, { bigint: true });
    const named = lstatSync(filePath, { bigint: true, throwIfNoEntry: false });
    return mine.ino === named?.ino && mine.dev === named.dev;
  }

  /** Fails if the name is gone or refers to another file: a later attempt has taken over the destination. */
  assertOwned(): void {
    try {
      if (this.isAlso(this.path)) return;
    } catch (error) {
      throw destinationFailure(error, this.#uri);
    }
    const why = 'another attempt of the job took over.';
    throw cannotWrite(this.#uri, { code: 'TEMPORARY_FILE_LOST', why, retryable: true });
  }

  /** Closes the file; removes it unless it is in place or belongs to another attempt. Never throws: the outcome is settled. */
  async discard(): Promise<void> {
    try {
      if (!this.#isInPlace && this.isAlso(this.path)) await removeIfThere(this.path);
    } catch {
      // The next attempt or `discardPartial` will find it by its name.
    }
    await this.handle.close().catch(() => undefined);
  }
}

/** Created exclusively, so that a symbolic link of this name is not followed. */
async function createAnew(filePath: string): Promise<FileHandle> {
  try {
    return await open(filePath, 'wx');
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') throw error;
    await removeIfThere(filePath);
    return open(filePath, 'wx');
  }
}

/** Like `rm` with `force`, with half the system calls. */
export async function removeIfThere(filePath: string): Promise<void> {
  try {
    await unlink(filePath);
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error;
  }
}

/** Removes the temporary files of all attempts of a job in a folder, whatever the output's name. */
export async function removePartials(folder: string, jobKey: string): Promise<void> {
  const ending = new RegExp(`^\\..*\\.${markOf(jobKey)}\\.\\d+\\.part$`, 's');
  let names: string[];
  try {
    names = await readdir(folder);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(systemCode(error))) return;
    throw error;
  }
  const leftovers = names.filter((name) => ending.test(name));
  await Promise.all(leftovers.map((name) => removeIfThere(path.join(folder, name))));
}

/** A file in use is written to all the time; the rest allows for clock skew. */
const abandonedMs = 24 * 60 * 60_000;

/** Removes temporary files of terminated jobs and killed processes, recognized by a day without a write. */
export async function sweepPartials(folder: string, { recursive = false } = {}): Promise<void> {
  for (const entry of await readdir(folder, { recursive, withFileTypes: true })) {
    if (!entry.isFile() || !isPartialName(entry.name)) continue;
    const found = path.join(entry.parentPath, entry.name);
    const { mtimeMs } = await lstat(found);
    if (Date.now() - mtimeMs > abandonedMs) await removeIfThere(found);
  }
}

export function isPartialName(name: string): boolean {
  return /^\..*\.[0-9a-f]{12}\.\d+\.part$/s.test(name);
}

/** Hash of the job's identity for file names. */
function markOf(jobKey: string): string {
  return createHash('sha256').update(jobKey).digest('hex').slice(0, 12);
}
