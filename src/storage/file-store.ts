import type { Readable } from 'node:stream';
import type { OnExisting } from '../shared/choices';

/** An input that was found and can be read. */
export interface SourceFile {
  readonly uri: string;
  readonly name: string;
  readonly size: number;
  /** Local path, for a message; absent where the store is not a file system. */
  readonly path?: string;
  /** As long as it stays the same nobody has written to the file; absent where the store has none. */
  readonly stamp?: string;
  /** A new stream from the first byte; it fails with SOURCE_CHANGED when the file is not the one that `openSource` saw. */
  open(): Readable;
}

/** `uri` is the file's own, also where a folder was asked for. */
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
  /** True when the policy was `skip` and the destination existed: the fields describe the file that was there. */
  readonly skipped: boolean;
}

export interface WriteDestinationOptions {
  /** The output file (not a folder), as `prepareDestination` resolved it. */
  uri: string;
  /** The job's identity: names the temporary file, so that a later attempt finds what an earlier one left. */
  jobKey: string;
  /** 1 for the first. A later one takes a file of the same bytes at the destination for what a lost attempt has finished. */
  attempt: number;
  body: AsyncIterable<Uint8Array>;
  /** Bytes that must arrive; fewer or more is SIZE_MISMATCH. */
  expectedSize?: number | undefined;
  onExisting: OnExisting;
  /**
   * Asked right before the file gets its final name: undefined when it may, now, in this very tick; a promise when it is to be asked again
   * once that is fulfilled; a promise that is rejected when it must not, because another attempt took over. Default: it may.
   */
  mayCommit?: (() => Promise<void> | undefined) | undefined;
  signal?: AbortSignal | undefined;
  onProgress?: ((writtenBytes: number) => void) | undefined;
}

/** `uri` is the destination as the job has it: a file, or a folder that ends with `/`. */
export interface MarkerOptions {
  uri: string;
  /** The job's identity, the same in all its runs: a marker takes the place of one that an earlier run has left. */
  jobKey: string;
  /** What the marker says. */
  runId: string;
}

/** How workers find out whether they see the same folder. */
export interface FolderSharing {
  /** Workers of the same view see the same files for certain. A short text that is the same for as long as that holds. */
  readonly view: string;
  /** Leaves something hidden in the destination's folder, which it makes where there is none; false: it can't, and nobody looks for it. */
  leaveMarker(options: MarkerOptions): Promise<boolean>;
  /** Whether the one of this run is there. */
  seesMarker(options: MarkerOptions): Promise<boolean>;
  /** There may be none. */
  removeMarker(options: Pick<MarkerOptions, 'uri' | 'jobKey'>): Promise<void>;
}

/**
 * Where a job's files come from and go to. All failures are `StorageError`, except those of the body, the signal and `mayCommit`: any other error is
 * tried again until the step's deadline. Which code does what to a job: `docs/embedding/file-stores.md`.
 */
export interface FileStore {
  /** Finds an input and proves that it can be read. Sources are never changed. */
  openSource(uri: string): Promise<SourceFile>;
  /**
   * Settles the output's name and proves, without writing anything, that it can be written. A URI that ends with `/` is a
   * folder; the file is then called `suggestedName`, made safe. Refuses a destination that is the file `source`.
   */
  prepareDestination(options: {
    uri: string;
    suggestedName: string;
    onExisting: OnExisting;
    /** The attempt that asks; a later one leaves a file that exists to `writeDestination`, as it may be the job's own. Default: 1. */
    attempt?: number | undefined;
    /** So many bytes are to come, or about as many: DESTINATION_FULL where there is evidently no room for them. Default: not looked at. */
    expectedBytes?: number | undefined;
    source?: string | undefined;
  }): Promise<DestinationPlan>;
  /** Streams to a temporary name in the destination folder, syncs, and gives the file its final name in one step. */
  writeDestination(options: WriteDestinationOptions): Promise<StoredFile>;
  /** Removes the temporary files that any attempt of the job left beside the destination. */
  discardPartial(options: { uri: string; jobKey: string }): Promise<void>;
  /** Absent where every worker sees the same files, as in an object store. */
  readonly sharing?: FolderSharing | undefined;
}
