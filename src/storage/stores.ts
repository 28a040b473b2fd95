import { withoutSecrets } from '../job/types';
import { cannotUse, StorageError } from './errors';
import type { FileStore } from './file-store';

/** Stores by URI scheme, such as `gs`; a function is called on first use. */
export type StoresByScheme = Readonly<Record<string, FileStore | (() => FileStore)>>;

/** The stores of a worker as one store, which selects by URI scheme. */
export class Stores implements FileStore {
  readonly #byScheme: Map<string, FileStore | (() => FileStore)>;

  /** @throws TypeError */
  constructor(stores: StoresByScheme) {
    for (const scheme of Object.keys(stores)) {
      if (/^[a-z][a-z0-9+.-]*$/.test(scheme)) continue;
      throw new TypeError(`${JSON.stringify(scheme)} is not a URI scheme; register a store as in { gs: store }.`);
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
    const what = scheme === '' ? 'it is not a URI' : `no store for ${scheme}: URIs is registered here`;
    const shown = withoutSecrets(uri);
    const message = `Cannot use ${JSON.stringify(shown)}: ${what}; there are: ${known}. Use one of those, or register a store.`;
    throw new StorageError({ code: 'UNSUPPORTED_URI', message, uri: shown });
  }

  openSource: FileStore['openSource'] = async (uri) => this.of(uri).openSource(uri);
  prepareDestination: FileStore['prepareDestination'] = async ({ source, ...options }) => {
    const { uri } = options;
    const isComparable = source !== undefined && schemeOf(source) === schemeOf(uri);
    return this.of(uri).prepareDestination({ ...options, ...(isComparable && { source }) });
  };
  writeDestination: FileStore['writeDestination'] = async (options) => this.of(options.uri).writeDestination(options);
  discardPartial: FileStore['discardPartial'] = async (options) => this.of(options.uri).discardPartial(options);
  sweepPartial = async (folder: string, options?: { recursive?: boolean }): Promise<void> =>
    this.of(folder).sweepPartial?.(folder, options);
  look: FileStore['look'] = async (uri) => this.of(uri).look(uri);
  read: FileStore['read'] = (uri, options) => this.of(uri).read(uri, options);
  walk: FileStore['walk'] = (folder, options) => this.of(folder).walk(folder, options);
  remove: FileStore['remove'] = async (uri) => this.of(uri).remove(uri);
  /** @throws StorageError UNSUPPORTED_URI unless `canMove` */
  move: NonNullable<FileStore['move']> = async (options) => {
    const { uri, to } = options;
    const store = this.of(uri);
    if (store.move && this.canMove(uri, to)) return store.move(options);
    throw cannotUse(withoutSecrets(uri), `it can't be moved to ${withoutSecrets(to)}`);
  };
  canMove(uri: string, to: string): boolean {
    const store = this.of(uri);
    return store.move !== undefined && this.of(to) === store;
  }
}

/** In lower case; empty if the text is not a URI. */
function schemeOf(uri: string): string {
  return /^([a-z][a-z0-9+.-]*):/i.exec(uri)?.[1]?.toLowerCase() ?? '';
}
