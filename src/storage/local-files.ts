import type { FileStore } from './file-store';

/** The store behind `file:` URIs. */
export function createLocalFiles(): FileStore {
  throw new Error('Not written yet.');
}
