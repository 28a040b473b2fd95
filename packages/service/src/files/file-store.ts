import { createHash, randomUUID } from 'node:crypto';
import { constants, createWriteStream, type ReadStream } from 'node:fs';
import { access, mkdir, open, readdir, rename, rm, stat, statfs } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { endpoints } from 'temporal-file-conversion/contract';
import { isTaskOf } from '../shared/api-version';
import { inspectError, isOutOfSpace, outOfSpaceMessage } from '../shared/caught';
import type { ServiceLimits } from '../shared/limits';
import { TaskError } from '../shared/task-error';

const partSuffix = '.part';

/** How often the disk is asked for its free space while an upload is written. */
const freeSpaceCheckBytes = 32 * 1024 * 1024;

type StorageLimits = Pick<ServiceLimits, 'maxStoredBytes' | 'minFreeBytes'>;

/** A file as it lies in the data folder. */
export interface StoredFile {
  readonly file: string;
  /** The task that made it; undefined for one that is unfinished. */
  readonly id: string | undefined;
  readonly modifiedAt: number;
}

/**
 * The files of the tasks, each under the id of the task that made it: no name from outside is ever a path. A file appears under
 * its id only when it is whole and on disk; until then it has a name of its own that ends in `.part`.
 */
export class FileStore {
  readonly #uploads: string;
  readonly #outputs: string;
  readonly #budget: StorageBudget;
  /** Files that are being written or sent, by how many. */
  readonly #inUse = new Map<string, number>();

  constructor(dataDir: string, limits: StorageLimits) {
    this.#uploads = path.join(dataDir, 'uploads');
    this.#outputs = path.join(dataDir, 'outputs');
    this.#budget = new StorageBudget(this.#uploads, limits);
  }

  async prepare(): Promise<void> {
    for (const folder of [this.#uploads, this.#outputs]) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      // Better now than at the first upload.
      await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
      for (const name of await readdir(folder)) {
        const file = path.join(folder, name);
        this.#budget.set(file, (await stat(file)).size);
      }
    }
  }

  /** Bytes of all files. */
  get totalBytes(): number {
    return this.#budget.totalBytes;
  }

  /** Where the file that a task made lies; undefined for tasks that make none. */
  pathOf({ id, endpoint }: { id: string; endpoint: string }): string | undefined {
    if (isTaskOf({ endpoint }, endpoints.uploadFile)) return path.join(this.#uploads, id);
    if (isTaskOf({ endpoint }, endpoints.convertFile)) return path.join(this.#outputs, id);
    return undefined;
  }

  /** A new name for an unfinished output, to be published or discarded. */
  newOutputPart(id: string): string {
    const part = path.join(this.#outputs, `${id}.${randomUUID()}${partSuffix}`);
    this.#hold(part);
    return part;
  }

  /**
   * Writes a stream to disk without giving it its id yet. Nothing is left behind when the stream breaks or there is no room;
   * when `expectedBytes` have none, nothing is written at all.
   */
  async receive(stream: Readable, expectedBytes = 0): Promise<{ part: string; size: number; sha256: string }> {
    const budget = this.#budget;
    const part = path.join(this.#uploads, `${randomUUID()}${partSuffix}`);
    const hash = createHash('sha256');
    this.#hold(part);
    try {
      await budget.requireRoom(expectedBytes);
      const target = createWriteStream(part, { flags: 'wx', mode: 0o600, flush: true });
      await pipeline(stream, countAndHash, target);
      return { part, size: target.bytesWritten, sha256: hash.digest('hex') };
    } catch (error) {
      await this.discard(part);
      throw isOutOfSpace(error) ? outOfSpace() : error;
    }

    async function* countAndHash(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
      let unchecked = 0;
      for await (const chunk of chunks) {
        budget.grow(part, chunk.length);
        hash.update(chunk);
        unchecked += chunk.length;
        if (unchecked >= freeSpaceCheckBytes) {
          await budget.requireRoom(0);
          unchecked = 0;
        }
        yield chunk;
      }
    }
  }

  async keepUpload(part: string, id: string): Promise<void> {
    await this.#publish(part, path.join(this.#uploads, id));
  }

  /** Throws a TaskError, and keeps nothing, when there is no room for the output. */
  async keepOutput(part: string, id: string): Promise<void> {
    const { size } = await stat(part);
    this.#budget.grow(part, size);
    // It is on the disk already.
    await this.#budget.requireRoom(0);
    await this.#publish(part, path.join(this.#outputs, id));
  }

  /** Removes a file, and what was counted for it. */
  async discard(file: string): Promise<void> {
    await rm(file, { force: true });
    this.#budget.delete(file);
    this.#inUse.delete(file);
  }

  async exists(file: string): Promise<boolean> {
    return stat(file).then(
      (entry) => entry.isFile(),
      () => false,
    );
  }

  /** A stream of the file, which stays until the stream is closed; undefined when it does not exist. */
  async read(file: string): Promise<ReadStream | undefined> {
    const release = this.#hold(file);
    try {
      const handle = await open(file, 'r');
      return handle.createReadStream().once('close', release);
    } catch (error) {
      release();
      if (inspectError(error).code === 'ENOENT') return undefined;
      throw error;
    }
  }

  /** The files that are neither being written nor read. */
  async *listUnused(): AsyncGenerator<StoredFile> {
    for (const folder of [this.#uploads, this.#outputs]) {
      for (const name of await readdir(folder)) {
        const file = path.join(folder, name);
        const entry = await stat(file).catch(() => undefined);
        if (!entry || this.#inUse.has(file)) continue;
        yield { file, id: name.endsWith(partSuffix) ? undefined : name, modifiedAt: entry.mtimeMs };
      }
    }
  }

  #hold(file: string): () => void {
    this.#inUse.set(file, (this.#inUse.get(file) ?? 0) + 1);
    return () => {
      const holders = (this.#inUse.get(file) ?? 1) - 1;
      if (holders > 0) this.#inUse.set(file, holders);
      else this.#inUse.delete(file);
    };
  }

  async #publish(part: string, target: string): Promise<void> {
    await rename(part, target);
    this.#budget.rename(part, target);
    this.#inUse.delete(part);
    const folder = await open(path.dirname(target), 'r');
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  }
}

/** That the file of a task is not there; the message names its state. */
export function missingFile(task: { endpoint: string }): TaskError {
  const state = isTaskOf(task, endpoints.uploadFile) ? 'uploaded' : 'converted';
  return new TaskError('FILE_NOT_EXISTS', { subject: state });
}

/**
 * How many bytes the files take, by path, and whether there is room for more. The document has no code for a full service.
 * INTERNAL_SERVER_ERROR makes clients try again later, when files have expired.
 */
class StorageBudget {
  readonly #folder: string;
  readonly #limits: StorageLimits;
  readonly #bytes = new Map<string, number>();
  #total = 0;

  constructor(folder: string, limits: StorageLimits) {
    this.#folder = folder;
    this.#limits = limits;
  }

  get totalBytes(): number {
    return this.#total;
  }

  set(file: string, bytes: number): void {
    this.#total += bytes - (this.#bytes.get(file) ?? 0);
    this.#bytes.set(file, bytes);
  }

  /** Counts bytes that are about to be written; throws when they are too many. */
  grow(file: string, bytes: number): void {
    this.#requireUnder(this.#total + bytes);
    this.set(file, (this.#bytes.get(file) ?? 0) + bytes);
  }

  delete(file: string): void {
    this.#total -= this.#bytes.get(file) ?? 0;
    this.#bytes.delete(file);
  }

  rename(from: string, to: string): void {
    const bytes = this.#bytes.get(from) ?? 0;
    this.delete(from);
    this.set(to, bytes);
  }

  /** Throws unless so many bytes more have room, in the budget and on the disk. */
  async requireRoom(bytes: number): Promise<void> {
    this.#requireUnder(this.#total + bytes);
    const { bavail, bsize } = await statfs(this.#folder);
    if (bavail * bsize - bytes < this.#limits.minFreeBytes) throw outOfSpace();
  }

  #requireUnder(total: number): void {
    if (total > this.#limits.maxStoredBytes) throw outOfSpace();
  }
}

function outOfSpace(): TaskError {
  return new TaskError('INTERNAL_SERVER_ERROR', { message: outOfSpaceMessage });
}
