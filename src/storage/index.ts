/** Where sources come from and results go: the interface of a store of your own, and the store of this machine's files. */
export { StorageError } from './errors';
export type { StorageErrorCode } from './errors';
export type {
  DestinationPlan,
  FileStore,
  FolderSharing,
  MarkerOptions,
  SourceFile,
  StoredFile,
  WriteDestinationOptions,
} from './file-store';
export { createLocalFiles } from './local-files';
