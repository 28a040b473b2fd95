/** File stores: the interface for custom stores, the stores that need no package, and tools for local files. */
export { StorageError } from './errors';
export type { StorageErrorCode } from './errors';
export type {
  DestinationPlan,
  FileSnapshot,
  FileStore,
  FoundFile,
  Moved,
  MoveOptions,
  SourceFile,
  StoredFile,
  WalkedFile,
  WalkOptions,
  WriteDestinationOptions,
} from './file-store';
export { createHttpsFiles } from './https/index';
export type { HttpsFilesOptions } from './https/index';
export { createLocalFiles } from './local-files';
export { confine, leadsInto } from './confine';
export { makeSafeName } from './file-name';
export { shownPath } from './file-uri';
export { freeBytesOf, isProgram, makeFolder, syncFolder, syncFolderOrFail } from './folders';
export { readIfExists, readOrCreateFile, readSetting, replaceFile } from './replace-file';
export { Stores } from './stores';
export type { StoresByScheme } from './stores';
export { latin1ToWindows1252 } from './windows-1252';
