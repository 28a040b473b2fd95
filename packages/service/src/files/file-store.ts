import { createHash, type Hash, randomUUID } from 'node:crypto';
import { constants, createWriteStream, type ReadStream } from 'node:fs';
import { access, lstat, open, readdir, rename, rm, stat, statfs } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { endpoints } from 'temporal-file-conversion/contract';
import { makeFolder, syncFolderOrFail } from 'temporal-file-conversion/storage';
import { isTaskOf } from '../shared/api-version';
import { inspectError, isOutOfSpace, outOfSpaceMessage } from '../shared/caught';
import type { ServiceLimits } from '../shared/limits';
import { TaskError } from '../shared/task-error';

const partSuffix = '.part';

const uuid = '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}';
/** Names of the files that the store writes. It never touches other files in its folders. */
const ownName = new RegExp(`^${uuid}(\\.${uuid})?(\\${partSuffix})?$`);

/** Number of bytes of an upload between two checks of the free disk space. */
const freeSpaceCheckBytes = 32 * 1024 * 1024;

type StorageLimits = Pick<ServiceLimits, 'maxStoredBytes' | 'minFreeBytes'>;

type FileTask = Readonly<Record<'id' | 'endpoint', string>>;

/** A file in the data folder. */
export interface KeptFile {
  readonly file: string;
  /** The task that made it; undefined for an unfinished file. */
  readonly id: string | undefined;
  readonly modifiedAt: number;
}

/**
 * The files of the tasks, each under the id of the task that made it: no name from outside is ever a path. A file gets this name only
 * when it is complete and on disk; until then it has a unique name that ends in `.part`.
 */
export class ServiceFiles {
  readonly #uploads: string;
  readonly #outputs: string;
  readonly #limits: StorageLimits;
  /** Bytes of each file, including those that are being written. */
  readonly #bytes = new Map<string, number>();
  #totalBytes = 0;
  /** Number of readers or writers of each file that is in use. */
  readonly #inUse = new Map<string, number>();

  constructor(dataDir: string, limits: StorageLimits) {
    this.#uploads = path.join(dataDir, 'uploads');
    this.#outputs = path.join(dataDir, 'outputs');
    this.#limits = limits;
  }

  async prepare(): Promise<void> {
    for (const folder of [this.#uploads, this.#outputs]) {
      await makeFolder(folder, 0o700);
      if ((await lstat(folder)).isSymbolicLink())
        throw new Error(`${folder} is a link; name the folder that it leads to`);
      // Fails at startup rather than at the first upload.
      await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
      for (const file of await ownFiles(folder)) this.#count(file, (await lstat(file)).size);
    }
  }

  get totalBytes(): number {
    return this.#totalBytes;
  }

  /** Path of the file that a task made; undefined for tasks that make none. */
  pathOf({ id, endpoint }: FileTask): string | undefined {
    if (isTaskOf({ endpoint }, endpoints.uploadFile)) return path.join(this.#uploads, id);
    if (isTaskOf({ endpoint }, endpoints.convertFile)) return path.join(this.#outputs, id);
    return undefined;
  }

  /** A new name for an unfinished output, which must be published or discarded. */
  newOutputPart(id: string): string {
    const part = path.join(this.#outputs, `${id}.${randomUUID()}${partSuffix}`);
    this.#hold(part);
    return part;
  }

  /**
   * Writes a stream to disk under a temporary name. Leaves nothing behind if the stream breaks or there is no room, and writes nothing at
   * all if there is no room for `expectedBytes`.
   */
  async receive(
    stream: AsyncIterable<Buffer>,
    expectedBytes = 0,
  ): Promise<{ part: string; size: number; sha256: string }> {
    const part = path.join(this.#uploads, `${randomUUID()}${partSuffix}`);
    const hash = createHash('sha256');
    this.#hold(part);
    try {
      await this.#requireRoom(expectedBytes);
      const target = createWriteStream(part, { flags: 'wx', mode: 0o600, flush: true });
      await pipeline(stream, (chunks: AsyncIterable<Buffer>) => this.#countAndHash(chunks, part, hash), target);
      return { part, size: target.bytesWritten, sha256: hash.digest('hex') };
    } catch (error) {
      await this.discard(part);
      throw isOutOfSpace(error) ? outOfSpace() : error;
    }
  }

  async *#countAndHash(chunks: AsyncIterable<Buffer>, part: string, hash: Hash): AsyncGenerator<Buffer> {
    let unchecked = 0;
    for await (const chunk of chunks) {
      this.#grow(part, chunk.length);
      hash.update(chunk);
      unchecked += chunk.length;
      if (unchecked >= freeSpaceCheckBytes) {
        await this.#requireRoom(0);
        unchecked = 0;
      }
      yield chunk;
    }
  }

  /** @returns the new path of the upload. */
  async keepUpload(part: string, id: string): Promise<string> {
    return this.#publish(part, path.join(this.#uploads, id));
  }

  /** @throws TaskError, and keeps nothing, if there is no room for the output. */
  async keepOutput(part: string, id: string): Promise<void> {
    this.#grow(part, (await stat(part)).size);
    // The output is on the disk already.
    await this.#requireRoom(0);
    await this.#publish(part, path.join(this.#outputs, id));
  }

  /** Removes a file and what was counted for it. */
  async discard(file: string): Promise<void> {
    await rm(file, { force: true });
    this.#count(file, 0);
    this.#inUse.delete(file);
  }

  /** The path of the file that a task made. @throws TaskError if it is missing. */
  async requireFile(task: FileTask): Promise<string> {
    const file = this.pathOf(task);
    const entry = file === undefined ? undefined : await stat(file).catch(() => undefined);
    if (file !== undefined && entry?.isFile() === true) return file;
    throw missingFile(task);
  }

  /** A stream of the file that a task made; the file is kept until the stream is closed. @throws TaskError if it is missing. */
  async read(task: FileTask): Promise<ReadStream> {
    const file = await this.requireFile(task);
    const release = this.#hold(file);
    try {
      return (await open(file, 'r')).createReadStream().once('close', release);
    } catch (error) {
      release();
      throw inspectError(error).code === 'ENOENT' ? missingFile(task) : error;
    }
  }

  /** The files that are neither being written nor read. */
  async *listUnused(): AsyncGenerator<KeptFile> {
    for (const folder of [this.#uploads, this.#outputs]) {
      for (const file of await ownFiles(folder)) {
        const name = path.basename(file);
        const entry = await lstat(file).catch(() => undefined);
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

  async #publish(part: string, target: string): Promise<string> {
    await rename(part, target);
    this.#count(target, this.#bytes.get(part) ?? 0);
    this.#count(part, 0);
    this.#inUse.delete(part);
    await syncFolderOrFail(path.dirname(target));
    return target;
  }

  #count(file: string, bytes: number): void {
    this.#totalBytes += bytes - (this.#bytes.get(file) ?? 0);
    if (bytes === 0) this.#bytes.delete(file);
    else this.#bytes.set(file, bytes);
  }

  /** Counts bytes that are about to be written. @throws TaskError if they are too many. */
  #grow(file: string, bytes: number): void {
    this.#requireUnder(this.#totalBytes + bytes);
    this.#count(file, (this.#bytes.get(file) ?? 0) + bytes);
  }

  /** @throws TaskError unless this many more bytes fit into the limit and on the disk. */
  async #requireRoom(bytes: number): Promise<void> {
    this.#requireUnder(this.#totalBytes + bytes);
    const { bavail, bsize } = await statfs(this.#uploads);
    if (bavail * bsize - bytes < this.#limits.minFreeBytes) throw outOfSpace();
  }

  #requireUnder(total: number): void {
    if (total > this.#limits.maxStoredBytes) throw outOfSpace();
  }
}

async function ownFiles(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((name) => ownName.test(name)).map((name) => path.join(folder, name));
}

/** Refuses a data folder that was named by mistake: it has files in a folder that the service uses, but no database of it. */
export async function refuseForeignFolder(dataDir: string): Promise<void> {
  const names = await readdir(dataDir);
  if (names.includes('service.db')) return;
  for (const name of names.filter((each) => ['uploads', 'outputs', 'conversions'].includes(each))) {
    const held = await readdir(path.join(dataDir, name)).catch(() => [name]);
    if (held.length === 0) continue;
    throw new Error(
      `${dataDir} is no data folder of this service: it has files in ${name}, and no service.db. Name a new folder.`,
    );
  }
}

/** The error for a missing file of a task; its message names the state of the file. */
export function missingFile(task: { endpoint: string }): TaskError {
  const state = isTaskOf(task, endpoints.uploadFile) ? 'uploaded' : 'converted';
  return new TaskError('FILE_NOT_EXISTS', { subject: state });
}

/** The document has no code for a full service. This one makes clients retry later, when files have expired. */
function outOfSpace(): TaskError {
  return new TaskError('INTERNAL_SERVER_ERROR', { message: outOfSpaceMessage });
}
