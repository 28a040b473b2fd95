/** Where sources come from and results go: the interface for custom stores, and the stores that need no package. */
export { StorageError } from './errors';
export type { StorageErrorCode } from './errors';
export type {
  DestinationPlan,
  FileSnapshot,
  FileStore,
  FoundFile,
  SourceFile,
  StoredFile,
  WalkedFile,
  WalkOptions,
  WriteDestinationOptions,
} from './file-store';
export { createHttpsFiles } from './https/index';
export type { HttpsFilesOptions } from './https/index';
export { createLocalFiles } from './local-files';
