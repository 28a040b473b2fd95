import path from 'node:path';
import { KeyTable } from './key-table';

export interface ConflictCheck {
  row: number;
  /** Absolute path. */
  source: string;
  output: string;
  /** Absolute path. */
  destination: string;
  /** Device and inode of the source, to recognise links to it; absent if it does not exist. */
  sourceIdentity?: string | undefined;
  /** Device and inode of the file already at the destination. */
  destinationIdentity?: string | undefined;
}

/** A conflict between two rows. `otherRow` may be the row itself. */
export interface Conflict {
  kind: 'sameSource' | 'sameDestination' | 'destinationIsSource' | 'sourceIsDestination' | 'destinationIsFolder';
  otherRow: number;
}

/** Finds conflicts among any number of rows in one pass. Names are compared regardless of case, as some systems do. */
export class Conflicts {
  readonly #conversions = new KeyTable();
  readonly #sources = new KeyTable();
  readonly #destinations = new KeyTable();
  readonly #folders = new KeyTable();
  readonly #existing = new KeyTable();
  #lastFolder = '';

  /** Adds the row and returns its first conflict. */
  add({ row, source, output, destination, sourceIdentity, destinationIdentity }: ConflictCheck): Conflict | undefined {
    const conflict = (kind: Conflict['kind'], otherRow: number | undefined): Conflict[] =>
      otherRow === undefined ? [] : [{ kind, otherRow }];
    const sourceKey = comparablePath(source);
    const destinationKey = comparablePath(destination);
    const sameSource = conflict('sameSource', this.#conversions.claim(`${output}\0${source}`, row));
    const sameDestination = conflict('sameDestination', this.#destinations.claim(destinationKey, row));
    // A file may be converted to two formats: its first row stands for both.
    this.#sources.claim(sourceKey, row);
    const found = [
      ...sameSource,
      ...sameDestination,
      ...conflict('destinationIsSource', this.#sources.get(destinationKey)),
      ...conflict('sourceIsDestination', this.#destinations.get(sourceKey)),
      ...this.#compareIdentities({ row, sourceIdentity, destinationIdentity }, conflict),
      ...this.#compareFolders(row, destination, conflict),
    ];
    return found[0];
  }

  /** An existing destination may be a source under another name. */
  #compareIdentities(
    { row, sourceIdentity, destinationIdentity }: Pick<ConflictCheck, 'row' | 'sourceIdentity' | 'destinationIdentity'>,
    conflict: (kind: Conflict['kind'], otherRow: number | undefined) => Conflict[],
  ): Conflict[] {
    const found: Conflict[] = [];
    if (sourceIdentity !== undefined) {
      this.#sources.claim(`#${sourceIdentity}`, row);
      found.push(...conflict('sourceIsDestination', this.#existing.get(sourceIdentity)));
    }
    if (destinationIdentity !== undefined) {
      this.#existing.claim(destinationIdentity, row);
      found.push(...conflict('destinationIsSource', this.#sources.get(`#${destinationIdentity}`)));
    }
    return found;
  }

  /** A result cannot have the name of a folder that another result needs. */
  #compareFolders(
    row: number,
    destination: string,
    conflict: (kind: Conflict['kind'], otherRow: number | undefined) => Conflict[],
  ): Conflict[] {
    const found = conflict('destinationIsFolder', this.#folders.get(comparablePath(destination)));
    let folder = path.dirname(destination);
    // Rows mostly come folder by folder.
    if (folder === this.#lastFolder) return found;
    this.#lastFolder = folder;
    while (path.dirname(folder) !== folder) {
      const key = comparablePath(folder);
      found.push(...conflict('destinationIsFolder', this.#destinations.get(key)));
      if (this.#folders.claim(key, row) !== undefined) break;
      folder = path.dirname(folder);
    }
    return found;
  }
}

/** Equal for paths that some file systems treat as one: by case, or by encodings of an accented letter. */
export function comparablePath(path: string): string {
  return path.normalize().toLowerCase();
}
