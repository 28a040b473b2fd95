import { createHash, randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileSize, systemErrorCode } from 'temporal-file-conversion/messages';
import { makeFolder, syncFolder } from 'temporal-file-conversion/storage';
import { CommandError } from '../command-error';
import { isAlive } from '../process/asked-to-end';

/** How long files of a killed command's job are kept, since they may still be wanted. */
const keptForMs = 30 * 24 * 60 * 60_000;
const ownerPrefix = 'owner-';
const unsettledPrefix = 'new-';

/**
 * Holds piped input and output for as long as the job may need it: docs/decisions/pipes.md.
 * While a command's process is alive, no other command uses its folder.
 */
export class PipeFolder {
  #location: string;

  private constructor(private readonly pipes: string) {
    this.#location = path.join(pipes, unsettledPrefix + randomUUID());
  }

  /** Creates an empty folder below `pipes`, which is created if missing. Removes folders there that nobody can want any more. */
  static async create(pipes: string): Promise<PipeFolder> {
    await makeFolder(pipes);
    for (const name of await readdir(pipes)) await removeForgotten(path.join(pipes, name));
    const folder = new PipeFolder(pipes);
    await mkdir(folder.#location, { mode: 0o700 });
    await writeFile(folder.file(`${ownerPrefix}${process.pid}`), '');
    return folder;
  }

  file(name: string): string {
    return path.join(this.#location, name);
  }

  /**
   * Names the folder by what is converted. If an ended command left a folder of that name, takes it over with its job's files;
   * if a running command has it, keeps a folder apart.
   */
  async settle(identity: readonly unknown[]): Promise<void> {
    const digest = createHash('sha256').update(JSON.stringify(identity)).digest('hex');
    const named = path.join(this.pipes, digest.slice(0, 32));
    if (await takeOver(named)) {
      await this.remove();
      this.#location = named;
    } else if (!(await this.#moveTo(named))) await this.#moveTo(path.join(this.pipes, randomUUID()));
    await syncFolder(this.pipes);
  }

  async remove(): Promise<void> {
    await removeWhole(this.#location);
  }

  async #moveTo(location: string): Promise<boolean> {
    try {
      await rename(this.#location, location);
    } catch (error) {
      if (['ENOTEMPTY', 'EEXIST'].includes(systemErrorCode(error) ?? '')) return false;
      throw error;
    }
    this.#location = location;
    return true;
  }
}

/** Makes this process the owner; returns whether it is. Of several that try, one succeeds. */
async function takeOver(folder: string): Promise<boolean> {
  const owner = await ownerOf(folder);
  if (owner === undefined || isAlive(owner)) return false;
  return rename(path.join(folder, `${ownerPrefix}${owner}`), path.join(folder, `${ownerPrefix}${process.pid}`)).then(
    () => true,
    () => false,
  );
}

async function ownerOf(folder: string): Promise<number | undefined> {
  const names = await readdir(folder).catch(() => []);
  const owner = names.find((name) => name.startsWith(ownerPrefix));
  return owner === undefined ? undefined : Number(owner.slice(ownerPrefix.length));
}

/** Incomplete input is of no use to any job, so it is removed at once. */
async function removeForgotten(folder: string): Promise<void> {
  const owner = await ownerOf(folder);
  const found = await stat(folder).catch(() => undefined);
  if (!found || (owner !== undefined && isAlive(owner))) return;
  const isUnsettled = owner !== undefined && path.basename(folder).startsWith(unsettledPrefix);
  if (isUnsettled || Date.now() - found.mtimeMs > keptForMs) await removeWhole(folder);
}

/** Renames the folder first, so that no other command finds it half empty. */
async function removeWhole(folder: string): Promise<void> {
  const going = path.join(path.dirname(folder), unsettledPrefix + randomUUID());
  await rename(folder, going);
  await rm(going, { recursive: true, force: true });
}

/**
 * Writes standard input to a new file, readable by this user only, and flushes it to disk.
 * @param options.maxBytes the service's limit, if known.
 * @returns its SHA-256.
 * @throws CommandError if it is empty, or larger than the service takes.
 */
export async function spool(
  stdin: Readable,
  file: string,
  { maxBytes = Infinity, signal }: { maxBytes: number | undefined; signal: AbortSignal },
): Promise<string> {
  const hash = createHash('sha256');
  let bytes = 0;
  async function* measured(chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > maxBytes) {
        const limit = `${fileSize(maxBytes)} (${maxBytes} bytes)`;
        throw unusable(`is larger than the service accepts: ${limit}, max_upload_bytes of [service].`);
      }
      hash.update(chunk);
      yield chunk;
    }
  }
  await pipeline(stdin, measured, createWriteStream(file, { flags: 'wx', mode: 0o600, flush: true }), { signal });
  if (bytes === 0) throw unusable('is empty. There is nothing to convert.');
  return hash.digest('hex');
}

function unusable(problem: string): CommandError {
  return new CommandError('INPUT_UNUSABLE', [`standard input ${problem}`]);
}
