import { withoutSecrets } from '../shared/job';
import { StorageError } from './errors';
import type { FileStore } from './file-store';

/** Stores by the scheme of their URIs, such as `gs`; one that is a function is made when it is first needed. */
export type StoresByScheme = Readonly<Record<string, FileStore | (() => FileStore)>>;

/** The stores of a worker as one; what a URI names is its scheme's business. */
export class Stores implements FileStore {
  readonly #byScheme: Map<string, FileStore | (() => FileStore)>;

  /** @throws TypeError */
  constructor(stores: StoresByScheme) {
    for (const scheme of Object.keys(stores)) {
      if (/^[a-z][a-z0-9+.-]*$/.test(scheme)) continue;
      throw new TypeError(`${JSON.stringify(scheme)} is no scheme of URIs; register a store as in { gs: store }.`);
    }
    this.#byScheme = new Map(Object.entries(stores));
  }

  /** @throws StorageError UNSUPPORTED_URI */
  of(uri: string): FileStore {
    const scheme = schemeOf(uri);
    const found = this.#byScheme.get(scheme);
    if (found) {
      const store = typeof found === 'function' ? found() : found;
      this.#byScheme.set(scheme, store);
      return store;
    }
    const known = [...this.#byScheme.keys()].map((each) => `${each}:`).join(', ');
    const what = scheme === '' ? 'it is not a URI' : `this worker has no store for ${scheme}: URIs`;
    const shown = withoutSecrets(uri);
    const message = `Cannot use ${JSON.stringify(shown)}: ${what}; it has: ${known}. Use one of those, or register a store with the worker.`;
    throw new StorageError({ code: 'UNSUPPORTED_URI', message, uri: shown });
  }

  async openSource(uri: string) {
    return this.of(uri).openSource(uri);
  }

  async prepareDestination({ source, ...options }: Parameters<FileStore['prepareDestination']>[0]) {
    const { uri } = options;
    const isComparable = source !== undefined && schemeOf(source) === schemeOf(uri);
    return this.of(uri).prepareDestination({ ...options, ...(isComparable && { source }) });
  }

  async writeDestination(options: Parameters<FileStore['writeDestination']>[0]) {
    return this.of(options.uri).writeDestination(options);
  }

  async discardPartial(options: Parameters<FileStore['discardPartial']>[0]) {
    return this.of(options.uri).discardPartial(options);
  }

  async look(uri: string) {
    return this.of(uri).look(uri);
  }

  read(uri: string, options?: Parameters<FileStore['read']>[1]) {
    return this.of(uri).read(uri, options);
  }

  walk(folder: string, options?: Parameters<FileStore['walk']>[1]) {
    return this.of(folder).walk(folder, options);
  }

  async remove(uri: string) {
    return this.of(uri).remove(uri);
  }
}

/** In lower case; empty if it is no URI. */
function schemeOf(uri: string): string {
  return /^([a-z][a-z0-9+.-]*):/i.exec(uri)?.[1]?.toLowerCase() ?? '';
}
