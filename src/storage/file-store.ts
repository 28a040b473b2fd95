import type { Readable } from 'node:stream';
import type { OnExisting } from '../job/policies';

/** An input that exists and can be read. */
export interface SourceFile {
  readonly uri: string;
  readonly name: string;
  readonly size: number;
  /** Local path for messages; absent if the store is not a file system. */
  readonly path?: string;
  /** Stays the same until the file is written to; absent if the store has no such value. */
  readonly stamp?: string;
  /** Beginning of the file, if the store has read it anyway. */
  readonly head?: Buffer;
  /** A new stream from the first byte; fails with SOURCE_CHANGED if the file is not the one that `openSource` saw. */
  open(): Readable;
}

/** `uri` names the file itself, even if a folder was requested. */
export interface DestinationPlan {
  readonly kind: 'write' | 'skip';
  readonly uri: string;
}

export interface StoredFile {
  readonly uri: string;
  readonly name: string;
  readonly bytes: number;
  /** Lower-case hex. */
  readonly sha256: string;
  /** True if the policy was `skip` and the destination existed: the fields then describe the existing file. */
  readonly skipped: boolean;
}

export interface WriteDestinationOptions {
  /** The output file (not a folder), as `prepareDestination` resolved it. */
  uri: string;
  /** Identifies the job in the name of the temporary file, so that a later attempt finds files left by an earlier one. */
  jobKey: string;
  /** From 1. A later attempt accepts a file with the same bytes at the destination as the result of a lost attempt. */
  attempt: number;
  body: AsyncIterable<Uint8Array>;
  /** Expected number of bytes; any other number fails with SIZE_MISMATCH. */
  expectedSize?: number | undefined;
  onExisting: OnExisting;
  /**
   * Called right before the file gets its final name. Returns undefined if this attempt may commit now, in this very
   * tick; a promise to call again once it resolves; a promise that rejects if another attempt took over. Default: may
   * commit.
   */
  mayCommit?: (() => Promise<void> | undefined) | undefined;
  signal?: AbortSignal | undefined;
}

/** What a URI currently names; symbolic links are followed. */
export type FileSnapshot =
  | FoundFile
  | { readonly kind: 'folder'; readonly identity: string }
  /** Neither a file nor a folder, such as a named pipe. */
  | { readonly kind: 'other'; readonly identity: string }
  /**
   * Nothing. `reason` continues a sentence that begins with the file's name. `isUnseen`: something may be there, but can't be looked
   * at; `mayPass`: another look may find it.
   */
  | {
      readonly kind: 'none';
      readonly reason: string;
      readonly isLink: boolean;
      readonly isUnseen?: true;
      readonly mayPass?: true;
    };

export interface FoundFile {
  readonly kind: 'file';
  /** Equal for two URIs of one file. */
  readonly identity: string;
  /** Changes with every write. */
  readonly stamp: string;
  readonly bytes: number;
  /** Milliseconds since the epoch. */
  readonly modifiedAt: number;
}

export interface WalkOptions {
  /** Depth to which subfolders are entered; 1 is the folder alone. Default: unlimited. */
  maxDepth?: number | undefined;
  /** Asked once for each subfolder by its path relative to the folder, without a trailing slash. Default: all are entered. */
  enters?: ((relative: string) => boolean | Promise<boolean>) | undefined;
  /** Called for each entry left out because it can't be read or, with `isTwice`, would be visited twice. */
  onUnreadable?: ((relative: string, reason: string, isTwice?: boolean) => void) | undefined;
  signal?: AbortSignal | undefined;
}

export interface WalkedFile {
  readonly uri: string;
  /** Path relative to the folder, with `/`. */
  readonly relative: string;
  /** Absent if the listing does not include it; call `look` then. */
  readonly found?: FoundFile;
}

export interface MoveOptions {
  uri: string;
  /** A URI of the same store. Missing folders are created. */
  to: string;
  stamp: string;
}

/** `changed`: the file has changed or is gone; `taken`: the target name is in use. In both cases nothing was done. */
export type Moved = 'moved' | 'changed' | 'taken';

/**
 * Where a job's files come from and go to. All failures are `StorageError`, except those of the body, the signal and `mayCommit`; any
 * other error is retried until the step's deadline. How each code affects a job: `docs/embedding/file-stores.md`.
 */
export interface FileStore {
  /** Finds an input and checks that it can be read. Sources are never changed. */
  openSource(uri: string): Promise<SourceFile>;
  /**
   * Determines the output's name and checks, without writing anything, that it can be written. A URI that ends with `/`
   * is a folder; the file in it is named `suggestedName`, made safe. Refuses a destination that is the file `source`.
   */
  prepareDestination(options: {
    uri: string;
    suggestedName: string;
    onExisting: OnExisting;
    /** From 1. A later attempt leaves an existing file, which may be the job's own, to `writeDestination`. Default: 1. */
    attempt?: number | undefined;
    /** Approximate size: DESTINATION_FULL if it evidently does not fit. Default: not checked. */
    expectedBytes?: number | undefined;
    source?: string | undefined;
  }): Promise<DestinationPlan>;
  /** Streams to a temporary name in the destination folder, syncs, and gives the file its final name in one step. */
  writeDestination(options: WriteDestinationOptions): Promise<StoredFile>;
  /** Removes the temporary files that any attempt of the job left beside the destination. */
  discardPartial(options: { uri: string; jobKey: string }): Promise<void>;
  /**
   * Removes any job's temporary files in a folder that were last written to over a day ago; `recursive`: also below it. Best effort.
   * Absent: no such files stay, or the storage removes them.
   */
  sweepPartial?(folder: string, options?: { recursive?: boolean }): Promise<void>;
  /** Does not fail if the file is missing or may not be looked at. */
  look(uri: string): Promise<FileSnapshot>;
  /** The bytes from an offset on (default 0); fails with SOURCE_NOT_FOUND if there is no such file. */
  read(uri: string, options?: { start?: number | undefined; signal?: AbortSignal | undefined }): Readable;
  /**
   * The files below a folder, whose URI ends with `/`, in a stable order, and with bounded memory. Hidden files are
   * included, temporary files of this store are not.
   */
  walk(folder: string, options?: WalkOptions): AsyncIterable<WalkedFile>;
  /** Removes a file or, if the URI ends with `/`, everything below it. Succeeds if nothing is there. */
  remove(uri: string): Promise<void>;
  /**
   * Renames a file if it still has the `stamp` reported by `look` and the new name is free. A file written there meanwhile is never
   * lost. Safe to repeat. Absent: the store can't move files.
   */
  move?(options: MoveOptions): Promise<Moved>;
  /** Workers on different hosts may see different files, as on local disks. Default: all see the same, as in an object store. */
  readonly isPerHost?: boolean | undefined;
}
