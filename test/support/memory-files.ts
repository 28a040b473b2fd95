import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import {
  StorageError,
  type FileStore,
  type FileSnapshot,
  type StorageErrorCode,
  type WalkedFile,
  type WalkOptions,
  type WriteDestinationOptions,
} from '../../src/index';

const scheme = 'memory:///';

/** A minimal custom file store that fulfils the contract: files in this process, under `memory:///` URIs. */
export class MemoryFiles implements FileStore {
  /** Finished files by URI. */
  readonly files = new Map<string, Buffer>();
  readonly #writes = new WeakMap<Buffer, { stamp: string; modifiedAt: number }>();
  #written = 0;

  openSource(uri: string) {
    return this.#answer(() => {
      const seen = this.#source(uri);
      const read = () => {
        if (this.files.get(uri) === seen) return seen;
        throw failure('SOURCE_CHANGED', uri, 'it is not the file that was seen', true);
      };
      return {
        uri,
        name: nameOf(uri),
        size: seen.length,
        stamp: this.#writeOf(seen).stamp,
        open: () => streamOf(read),
      };
    });
  }

  prepareDestination(options: Parameters<FileStore['prepareDestination']>[0]) {
    return this.#answer(() => {
      const { onExisting, attempt = 1, source } = options;
      const uri = checked(options.uri.endsWith('/') ? options.uri + safeName(options.suggestedName) : options.uri);
      if (uri === source) throw failure('DESTINATION_IS_SOURCE', uri, 'it is the source itself');
      // An earlier attempt may have written it: the content is compared once the bytes are known.
      if (attempt > 1 || !this.files.has(uri)) return { kind: 'write' as const, uri };
      if (onExisting === 'fail') throw exists(uri);
      return { kind: onExisting === 'skip' ? ('skip' as const) : ('write' as const), uri };
    });
  }

  async writeDestination(options: WriteDestinationOptions) {
    const { uri, attempt, onExisting, mayCommit, signal } = options;
    checked(uri);
    const content = await receive(options);
    for (let asked = mayCommit?.(); asked; asked = mayCommit?.()) await asked;
    signal?.throwIfAborted();
    // Nothing is awaited from here on, so that no other attempt can interleave.
    for (let number = 0; ; number += 1) {
      const name = number === 0 ? uri : numbered(uri, number);
      const existing = this.files.get(name);
      const isOurs = attempt > 1 && existing?.equals(content) === true;
      if (existing === undefined || onExisting === 'overwrite') this.files.set(name, content);
      else if (!isOurs && onExisting === 'rename') continue;
      else if (!isOurs && onExisting === 'skip') return { ...described(name, existing), skipped: true };
      else if (!isOurs) throw exists(uri);
      return { ...described(name, content), skipped: false };
    }
  }

  /** No-op: nothing is stored before it is complete. */
  discardPartial(): Promise<void> {
    return Promise.resolve();
  }

  look(uri: string) {
    return this.#answer((): FileSnapshot => {
      const content = this.files.get(checked(uri));
      if (content) return { kind: 'file', ...this.#found(uri, content) };
      const folder = uri.endsWith('/') ? uri : `${uri}/`;
      const isFolder = [...this.files.keys()].some((each) => each.startsWith(folder));
      return isFolder
        ? { kind: 'folder', identity: folder }
        : { kind: 'none', reason: 'does not exist', isLink: false };
    });
  }

  read(uri: string, { start = 0 }: { start?: number | undefined } = {}) {
    return streamOf(() => this.#content(uri).subarray(start));
  }

  async *walk(folder: string, { maxDepth = Infinity, enters, signal }: WalkOptions = {}): AsyncGenerator<WalkedFile> {
    const entered = new Map<string, boolean>([['', true]]);
    for (const [uri, content] of [...this.files].sort(([one], [other]) => (one < other ? -1 : 1))) {
      signal?.throwIfAborted();
      if (!uri.startsWith(folder)) continue;
      const segments = uri.slice(folder.length).split('/').map(decodeURIComponent);
      if (segments.length > maxDepth) continue;
      let isEntered = true;
      for (let depth = 1; depth < segments.length && isEntered; depth += 1) {
        const above = segments.slice(0, depth).join('/');
        isEntered = entered.get(above) ?? (await enters?.(above)) ?? true;
        entered.set(above, isEntered);
      }
      if (isEntered) yield { uri, relative: segments.join('/'), found: { kind: 'file', ...this.#found(uri, content) } };
    }
  }

  remove(uri: string) {
    return this.#answer(() => {
      for (const each of [...this.files.keys()]) {
        if (uri.endsWith('/') ? each.startsWith(uri) : each === uri) this.files.delete(each);
      }
    });
  }

  #found(uri: string, content: Buffer) {
    return { identity: uri, bytes: content.length, ...this.#writeOf(content) };
  }

  #writeOf(content: Buffer) {
    // A file that was put into the map directly counts as written long ago.
    const write = this.#writes.get(content) ?? { stamp: `write-${(this.#written += 1)}`, modifiedAt: this.#written };
    this.#writes.set(content, write);
    return write;
  }

  #content(uri: string): Buffer {
    const content = this.files.get(checked(uri));
    if (content === undefined) throw failure('SOURCE_NOT_FOUND', uri, 'there is no such file');
    return content;
  }

  #source(uri: string): Buffer {
    const content = this.#content(uri);
    if (content.length === 0) throw failure('SOURCE_EMPTY', uri, 'the file is empty');
    return content;
  }

  async #answer<T>(work: () => T): Promise<T> {
    await Promise.resolve();
    return work();
  }
}

async function receive({ uri, body, expectedSize, signal }: WriteDestinationOptions): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    signal?.throwIfAborted();
    chunks.push(chunk);
    bytes += chunk.length;
    if (expectedSize !== undefined && bytes > expectedSize) throw mismatch(uri, expectedSize, `at least ${bytes}`);
  }
  signal?.throwIfAborted();
  if (expectedSize !== undefined && bytes < expectedSize) throw mismatch(uri, expectedSize, `only ${bytes}`);
  return Buffer.concat(chunks);
}

/** Errors are emitted by the stream. */
function streamOf(read: () => Buffer): Readable {
  return Readable.from(
    (function* () {
      yield read();
    })(),
  );
}

function described(uri: string, content: Buffer) {
  return { uri, name: nameOf(uri), bytes: content.length, sha256: createHash('sha256').update(content).digest('hex') };
}

function checked(uri: string): string {
  if (!uri.startsWith(scheme)) throw failure('UNSUPPORTED_URI', uri, `it does not begin with ${scheme}`);
  return uri;
}

function nameOf(uri: string): string {
  return decodeURIComponent(uri.slice(uri.lastIndexOf('/') + 1));
}

function safeName(suggested: string): string {
  const name = suggested.split(/[/\\]/).at(-1)?.replace(/^\.+/, '') ?? '';
  return encodeURIComponent(name === '' ? 'output' : name);
}

function numbered(uri: string, number: number): string {
  return uri.replace(/(\.[^./]*)?$/, (extension) => `%20(${number})${extension}`);
}

function exists(uri: string): StorageError {
  return failure('DESTINATION_EXISTS', uri, 'it already exists');
}

function mismatch(uri: string, expected: number, came: string): StorageError {
  return failure(
    'SIZE_MISMATCH',
    uri,
    `the sender ended after ${came} of the ${expected} bytes that were announced`,
    true,
  );
}

function failure(code: StorageErrorCode, uri: string, why: string, retryable = false): StorageError {
  return new StorageError({ code, message: `Cannot use ${uri}: ${why}.`, uri, retryable });
}
