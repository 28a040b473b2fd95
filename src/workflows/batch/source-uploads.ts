import type { SharedUpload } from '../../job/types';
import type { ItemInProgress } from './item-in-progress';

/** Bounds the state carried from run to run. */
const uploadsKept = 500;

export type CarriedUploads = [sourceGroup: number, upload: SharedUpload][];

/** The latest uploads of sources shared by several rows: the first row uploads, the others wait for it. */
export class SourceUploads {
  private readonly uploads: Map<number, SharedUpload>;

  constructor(carried: CarriedUploads = []) {
    this.uploads = new Map(carried);
  }

  carry(): CarriedUploads {
    return [...this.uploads];
  }

  of({ sourceGroup }: ItemInProgress): SharedUpload | undefined {
    return sourceGroup === undefined ? undefined : this.uploads.get(sourceGroup);
  }

  keep(sourceGroup: number, upload: SharedUpload): void {
    this.uploads.delete(sourceGroup);
    this.uploads.set(sourceGroup, upload);
    const [oldest] = this.uploads.keys();
    if (oldest !== undefined && this.uploads.size > uploadsKept) this.uploads.delete(oldest);
  }

  /** Whether another row is about to upload the same source and report it. */
  isExpected({ item, sourceGroup }: ItemInProgress, entries: Iterable<ItemInProgress>): boolean {
    if (sourceGroup === undefined || this.uploads.has(sourceGroup)) return false;
    for (const other of entries) {
      if (other.sourceGroup === sourceGroup && other.item !== item && other.isUploading) return true;
    }
    return false;
  }
}
