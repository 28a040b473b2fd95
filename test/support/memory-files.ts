import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { StorageError, type FileStore, type StorageErrorCode, type WriteDestinationOptions } from '../../src/index';

const scheme = 'memory:///';

/** A file store of one's own, as small as one can be that keeps the contract: files of this process, under `memory:///` URIs. */
export class MemoryFiles implements FileStore {
  /** By URI. Files that are not finished yet are none of them. */
  readonly files = new Map<string, Buffer>();

  openSource(uri: string) {
    return this.#answer(() => {
      const seen = this.#source(uri);
      const read = () => {
        if (this.files.get(uri) === seen) return seen;
        throw failure('SOURCE_CHANGED', uri, 'it is not the file that was seen', true);
      };
      return { uri, name: nameOf(uri), size: seen.length, open: () => streamOf(read) };
    });
  }

  prepareDestination(options: Parameters<FileStore['prepareDestination']>[0]) {
    return this.#answer(() => {
      const { onExisting, attempt = 1, source } = options;
      const uri = checked(options.uri.endsWith('/') ? options.uri + safeName(options.suggestedName) : options.uri);
      if (uri === source) throw failure('DESTINATION_IS_SOURCE', uri, 'it is the source itself');
      // A later attempt may have been here before: what stands there is looked at when the bytes are known.
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
    // From here on nothing is awaited, so no other attempt comes between.
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

  /** Nothing is kept before it is whole. */
  discardPartial(): Promise<void> {
    return Promise.resolve();
  }

  #source(uri: string): Buffer {
    const content = this.files.get(checked(uri));
    if (content === undefined) throw failure('SOURCE_NOT_FOUND', uri, 'there is no such file');
    if (content.length === 0) throw failure('SOURCE_EMPTY', uri, 'the file is empty');
    return content;
  }

  async #answer<T>(work: () => T): Promise<T> {
    await Promise.resolve();
    return work();
  }
}

async function receive({ uri, body, expectedSize, signal, onProgress }: WriteDestinationOptions): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    signal?.throwIfAborted();
    chunks.push(chunk);
    bytes += chunk.length;
    if (expectedSize !== undefined && bytes > expectedSize) throw mismatch(uri, expectedSize, `at least ${bytes}`);
    onProgress?.(bytes);
  }
  signal?.throwIfAborted();
  if (expectedSize !== undefined && bytes < expectedSize) throw mismatch(uri, expectedSize, `only ${bytes}`);
  return Buffer.concat(chunks);
}

/** What goes wrong comes by way of the stream. */
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
  return failure('DESTINATION_EXISTS', uri, 'it exists already');
}

function mismatch(uri: string, expected: number, came: string): StorageError {
  return failure('SIZE_MISMATCH', uri, `${expected} bytes were to come, ${came} came`, true);
}

function failure(code: StorageErrorCode, uri: string, why: string, retryable = false): StorageError {
  return new StorageError({ code, message: `Cannot use ${uri}: ${why}.`, uri, retryable });
}
