/** The main entry point: the client that starts jobs and the plugin that runs them. */
export * from './client/index';
export { FileConversionPlugin } from './plugin';
export type { AppProfile, CallbackSettings, FileConversionPluginOptions } from './plugin-options';
export type { ApiTimeouts } from './http/conversion-api';
export type { CheckCommand } from './checks/check-command';
export type { NotifySettings } from './notices/send-notice';
export { StorageError } from './storage/errors';
export type { StorageErrorCode } from './storage/errors';
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
} from './storage/file-store';
