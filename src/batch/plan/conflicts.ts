import path from 'node:path';
import { comparablePath } from '../../shared/comparable-path';
import { KeyTable } from './key-table';

/** What of a row can be in the way of another one. */
export interface ConflictCheck {
  row: number;
  /** Absolute path. */
  source: string;
  output: string;
  /** Absolute path. */
  destination: string;
  /** Of the file, so that a link to it is known; absent where there is none. */
  sourceIdentity?: string | undefined;
  /** Of the file that is at the destination already. */
  destinationIdentity?: string | undefined;
}

/** Two rows of which one must go. `otherRow` may be the row itself. */
export interface Conflict {
  kind: 'sameSource' | 'sameDestination' | 'destinationIsSource' | 'sourceIsDestination' | 'destinationIsFolder';
  otherRow: number;
}

/**
 * Finds rows that are in each other's way, among any number of them, and in one pass. Names are compared as file systems do that don't
 * tell upper from lower case.
 */
export class Conflicts {
  readonly #conversions = new KeyTable();
  readonly #sources = new KeyTable();
  readonly #destinations = new KeyTable();
  readonly #folders = new KeyTable();
  readonly #existing = new KeyTable();
  #lastFolder = '';

  /** Takes the row in; the first conflict is the answer. */
  add({ row, source, output, destination, sourceIdentity, destinationIdentity }: ConflictCheck): Conflict | undefined {
    const conflict = (kind: Conflict['kind'], otherRow: number | undefined): Conflict[] =>
      otherRow === undefined ? [] : [{ kind, otherRow }];
    const sourceKey = comparablePath(source);
    const destinationKey = comparablePath(destination);
    const sameSource = conflict('sameSource', this.#conversions.claim(`${output}\0${source}`, row));
    const sameDestination = conflict('sameDestination', this.#destinations.claim(destinationKey, row));
    // A file may be converted twice, to two formats: the first row stands for both.
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

  /** A destination that exists may be a source under another name. */
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

  /** A result can't stand where another one needs a folder. */
  #compareFolders(
    row: number,
    destination: string,
    conflict: (kind: Conflict['kind'], otherRow: number | undefined) => Conflict[],
  ): Conflict[] {
    const found = conflict('destinationIsFolder', this.#folders.get(comparablePath(destination)));
    let folder = path.dirname(destination);
    // Rows come folder by folder, mostly.
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
