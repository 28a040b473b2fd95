import { hash } from 'node:crypto';
import { parametersKey, type ConversionParameters } from '../../shared/parameters';
import { decoded, folderOf, isLocal } from '../uris';

export interface ConflictCheck {
  row: number;
  source: string;
  output: string;
  parameters?: ConversionParameters | undefined;
  destination: string;
  /** Of the source, to recognise links to it; absent if it does not exist. */
  sourceIdentity?: string | undefined;
  /** Of the file already at the destination. */
  destinationIdentity?: string | undefined;
}

/** A conflict between two rows. `otherRow` may be the row itself. */
export interface Conflict {
  kind: 'sameSource' | 'sameDestination' | 'destinationIsSource' | 'sourceIsDestination' | 'destinationIsFolder';
  otherRow: number;
}

function conflict(kind: Conflict['kind'], otherRow: number | undefined): Conflict[] {
  return otherRow === undefined ? [] : [{ kind, otherRow }];
}

/** Finds conflicts among any number of rows in one pass. Names of local files are compared regardless of case, as some systems do. */
export class Conflicts {
  readonly #conversions = new KeyTable();
  readonly #sources = new KeyTable();
  readonly #sharedSources = new KeyTable();
  readonly #destinations = new KeyTable();
  readonly #folders = new KeyTable();
  readonly #existing = new KeyTable();
  #lastFolder = '';

  /** Adds the row and returns its first conflict. */
  add(check: ConflictCheck): Conflict | undefined {
    const { row, source, output, parameters, destination, sourceIdentity, destinationIdentity } = check;
    const sourceKey = comparable(source);
    const destinationKey = comparable(destination);
    const sameSource = conflict(
      'sameSource',
      this.#conversions.claim(`${output}${parametersKey(parameters)}\0${source}`, row),
    );
    const sameDestination = conflict('sameDestination', this.#destinations.claim(destinationKey, row));
    // A file may be converted to two formats: its first row stands for both.
    const firstRow = this.#sources.claim(sourceKey, row);
    if (firstRow !== undefined && sameSource.length === 0) this.#sharedSources.claim(sourceKey, firstRow);
    const found = [
      ...sameSource,
      ...sameDestination,
      ...conflict('destinationIsSource', this.#sources.get(destinationKey)),
      ...conflict('sourceIsDestination', this.#destinations.get(sourceKey)),
      ...this.#compareIdentities({ row, sourceIdentity, destinationIdentity }),
      ...this.#compareFolders(row, destination),
    ];
    return found[0];
  }

  /** The first row of a source that has several rows. */
  firstRowOf(source: string): number | undefined {
    return this.#sharedSources.get(comparable(source));
  }

  /** An existing destination may be a source under another name. */
  #compareIdentities({
    row,
    sourceIdentity,
    destinationIdentity,
  }: Pick<ConflictCheck, 'row' | 'sourceIdentity' | 'destinationIdentity'>): Conflict[] {
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
  #compareFolders(row: number, destination: string): Conflict[] {
    if (!isLocal(destination)) return [];
    const found = conflict('destinationIsFolder', this.#folders.get(`${comparable(destination)}/`));
    let folder = folderOf(destination);
    // Rows mostly come folder by folder.
    if (folder === this.#lastFolder) return found;
    this.#lastFolder = folder;
    while (folderOf(folder) !== folder) {
      const key = comparable(folder);
      found.push(...conflict('destinationIsFolder', this.#destinations.get(key.slice(0, -1))));
      if (this.#folders.claim(key, row) !== undefined) break;
      folder = folderOf(folder);
    }
    return found;
  }
}

function comparable(uri: string): string {
  return isLocal(uri) ? comparablePath(decoded(uri)) : uri;
}

/** Equal for paths that some file systems treat as one: by case, or by encodings of an accented letter. */
export function comparablePath(path: string): string {
  return path.normalize().toLowerCase();
}

/** A slot holds 96 bits of the key's SHA-256, and the row plus one. */
const wordsPerSlot = 4;
const fullAt = 0.7;

/**
 * Maps keys to rows in 23 to 46 bytes per key, however long the keys are: it keeps 96 bits of each hash, so that the
 * chance of a collision among a million keys is 1 in 10^17.
 */
export class KeyTable {
  #slots = new Uint32Array(1024 * wordsPerSlot);
  #size = 0;

  get(key: string): number | undefined {
    const row = this.#slots[this.#find(wordsOf(key)) + 3] ?? 0;
    return row === 0 ? undefined : row - 1;
  }

  /** Assigns the key to a row, unless another row holds it, which is then returned. */
  claim(key: string, row: number): number | undefined {
    const words = wordsOf(key);
    const at = this.#find(words);
    const holder = this.#slots[at + 3] ?? 0;
    if (holder !== 0) return holder - 1;
    this.#slots.set([...words, row + 1], at);
    this.#size += 1;
    if (this.#size * wordsPerSlot > this.#slots.length * fullAt) this.#grow();
    return undefined;
  }

  /** The index of the key's slot, or of the empty slot for it. */
  #find([first, second, third]: KeyWords): number {
    const slots = this.#slots;
    const mask = slots.length / wordsPerSlot - 1;
    for (let slot = first & mask; ; slot = (slot + 1) & mask) {
      const at = slot * wordsPerSlot;
      if (slots[at + 3] === 0) return at;
      if (slots[at] === first && slots[at + 1] === second && slots[at + 2] === third) return at;
    }
  }

  #grow(): void {
    const before = this.#slots;
    this.#slots = new Uint32Array(before.length * 2);
    for (let at = 0; at < before.length; at += wordsPerSlot) {
      const [first = 0, second = 0, third = 0, row = 0] = before.subarray(at, at + wordsPerSlot);
      if (row !== 0) this.#slots.set([first, second, third, row], this.#find([first, second, third]));
    }
  }
}

type KeyWords = readonly [number, number, number];

function wordsOf(key: string): KeyWords {
  const digest = hash('sha256', key, 'buffer');
  return [digest.readUInt32LE(0), digest.readUInt32LE(4), digest.readUInt32LE(8)];
}
