/** Where sources come from and results go: the interface for custom stores, and the store of local files. */
export { StorageError } from './errors';
export type { StorageErrorCode } from './errors';
export type {
  DestinationPlan,
  FileSnapshot,
  FileStore,
  FoundFile,
  FolderSharing,
  MarkerOptions,
  SourceFile,
  StoredFile,
  WalkedFile,
  WalkOptions,
  WriteDestinationOptions,
} from './file-store';
export { createLocalFiles } from './local-files';
