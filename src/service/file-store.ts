import { createHash, randomUUID } from 'node:crypto';
import { constants, createWriteStream } from 'node:fs';
import { access, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { endpoints } from '../api/contract';
import { isTaskOf } from './api-version';
import type { Task } from './task-store';

const partSuffix = '.part';

/**
 * The files of the tasks, each under the id of the task that made it: no name from outside is ever a path. A file appears under
 * its id only when it is whole and on disk; until then it has a name of its own that ends in `.part`.
 */
export class FileStore {
  readonly #uploads: string;
  readonly #outputs: string;

  constructor(dataDir: string) {
    this.#uploads = path.join(dataDir, 'uploads');
    this.#outputs = path.join(dataDir, 'outputs');
  }

  async prepare(): Promise<void> {
    for (const folder of [this.#uploads, this.#outputs]) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      // Found out now, not by the first upload.
      await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    }
  }

  /** Where the file that a task made lies; undefined for tasks that make none. */
  pathOf({ id, endpoint }: Pick<Task, 'id' | 'endpoint'>): string | undefined {
    if (isTaskOf({ endpoint }, endpoints.uploadFile)) return path.join(this.#uploads, id);
    if (isTaskOf({ endpoint }, endpoints.convertFile)) return path.join(this.#outputs, id);
    return undefined;
  }

  /** A new name for an unfinished output. A conversion that was given up may still be writing under an older one. */
  newOutputPart(id: string): string {
    return path.join(this.#outputs, `${id}.${randomUUID()}${partSuffix}`);
  }

  /** Writes a stream to disk without giving it its id yet. Nothing is left behind when the stream breaks. */
  async receive(stream: Readable): Promise<{ part: string; size: number; sha256: string }> {
    const part = path.join(this.#uploads, `${randomUUID()}${partSuffix}`);
    const hash = createHash('sha256');
    stream.on('data', (chunk: Buffer) => hash.update(chunk));
    try {
      const target = createWriteStream(part, { flags: 'wx', mode: 0o600, flush: true });
      await pipeline(stream, target);
      return { part, size: target.bytesWritten, sha256: hash.digest('hex') };
    } catch (error) {
      await this.discard(part);
      throw error;
    }
  }

  async keepUpload(part: string, id: string): Promise<void> {
    await this.#publish(part, path.join(this.#uploads, id));
  }

  async keepOutput(part: string, id: string): Promise<void> {
    await this.#publish(part, path.join(this.#outputs, id));
  }

  async discard(file: string): Promise<void> {
    await rm(file, { force: true });
  }

  async exists(file: string): Promise<boolean> {
    return stat(file).then(
      (entry) => entry.isFile(),
      () => false,
    );
  }

  /** Removes what an earlier process left unfinished: parts, and files whose task was never written down. */
  async sweep(isTask: (id: string) => boolean): Promise<void> {
    for (const folder of [this.#uploads, this.#outputs]) {
      for (const name of await readdir(folder)) {
        if (name.endsWith(partSuffix) || !isTask(name)) await this.discard(path.join(folder, name));
      }
    }
  }

  async #publish(part: string, target: string): Promise<void> {
    await rename(part, target);
    const folder = await open(path.dirname(target), 'r');
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  }
}
