import { hash } from 'node:crypto';
import { optionsKey } from '../../job/parameters';
import { shownPath } from '../../storage/file-uri';
import { decoded } from '../../job/types';
import { folderOf, isLocal, nameOf } from '../uris';
import { type DraftRow, whereIs } from './candidate';
import type { Finding } from '../findings';

/** A conflict between a row and another one, which may be the row itself. */
export interface Conflict {
  kind: 'sameSource' | 'sameDestination' | 'destinationIsSource' | 'destinationIsFolder';
  otherRow: number;
}

/**
 * Finds conflicts among any number of rows. All rows must be added before the first query. Names of local files are compared without
 * case, because some file systems ignore it.
 */
export class Conflicts {
  readonly #conversions = new KeyTable();
  readonly #sources = new KeyTable();
  readonly #sharedSources = new KeyTable();
  readonly #destinations = new KeyTable();
  /** The second row of each destination that several rows share. */
  readonly #sharedDestinations = new KeyTable();
  readonly #folders = new KeyTable();
  /** Cache of `#fileAbove` by folder; 0: none. */
  readonly #filesAbove = new KeyTable();
  #lastFolder = '';

  /** Returns whether another row already has this source and options; a found row is then not added. `identity`: of the source. */
  add(added: DraftRow, { identity, isFound }: { identity: string | undefined; isFound: boolean }): boolean {
    const { row, source, destination, refused } = added;
    // An invalid row claims no destination, but its source must not be replaced either.
    const isPlaced = !refused?.isUnclear;
    const isCompared = isPlaced || (isFound && source !== '');
    const twin = isCompared ? this.#conversions.claim(hashOf(conversionOf(added)), row) : undefined;
    if (twin !== undefined && isFound) return true;
    if (source !== '') {
      const key = hashOf(comparable(source));
      // A file may be converted to several formats: its first row stands for all.
      const firstRow = this.#sources.claim(key, row);
      if (firstRow !== undefined && twin === undefined) this.#sharedSources.claim(key, firstRow);
      if (identity !== undefined) this.#sources.claim(hashOf(`#${identity}`), row);
    }
    if (isPlaced) this.#addDestination(row, destination, twin);
    return twin !== undefined;
  }

  of(asked: DraftRow): Conflict | undefined {
    const { row, destination, replaced } = asked;
    const place = comparable(destination);
    const key = hashOf(place);
    const is = (kind: Conflict['kind'], otherRow: number | undefined) =>
      otherRow === undefined ? undefined : { kind, otherRow };
    const another = (otherRow: number | undefined) => (otherRow === row ? undefined : otherRow);
    return (
      is('sameSource', another(this.#conversions.get(hashOf(conversionOf(asked))))) ??
      is('sameDestination', another(this.#destinations.get(key)) ?? this.#sharedDestinations.get(key)) ??
      is('destinationIsSource', this.#sources.get(key)) ??
      // The file at the destination may be a source under another name.
      is('destinationIsSource', replaced === undefined ? undefined : this.#sources.get(hashOf(`#${replaced}`))) ??
      is(
        'destinationIsFolder',
        this.#folders.get(hashOf(`${place}/`)) ??
          (isLocal(destination) ? this.#fileAbove(folderOf(destination)) : undefined),
      )
    );
  }

  /** The first row of a source that has several rows. */
  firstRowOf(source: string): number | undefined {
    return this.#sharedSources.isEmpty ? undefined : this.#sharedSources.get(hashOf(comparable(source)));
  }

  #addDestination(row: number, destination: string, twin: number | undefined): void {
    const key = hashOf(comparable(destination));
    const firstRow = this.#destinations.claim(key, row);
    if (firstRow !== undefined && firstRow !== twin) this.#sharedDestinations.claim(key, row);
    if (!isLocal(destination)) return;
    let folder = folderOf(destination);
    // Rows mostly come folder by folder, so this saves most walks.
    if (folder === this.#lastFolder) return;
    this.#lastFolder = folder;
    while (folderOf(folder) !== folder && this.#folders.claim(hashOf(comparable(folder)), row) === undefined) {
      folder = folderOf(folder);
    }
  }

  /** The row whose result has the path of this folder, or of one above it. */
  #fileAbove(folder: string): number | undefined {
    if (folderOf(folder) === folder) return undefined;
    const place = comparable(folder);
    const key = hashOf(place);
    const known = this.#filesAbove.get(key);
    if (known !== undefined) return known === 0 ? undefined : known;
    const file = this.#destinations.get(hashOf(place.slice(0, -1))) ?? this.#fileAbove(folderOf(folder));
    this.#filesAbove.claim(key, file ?? 0);
    return file;
  }
}

function conversionOf(row: DraftRow): string {
  return `${optionsKey(row)}\0${row.source}`;
}

export function explainConflict(kind: Conflict['kind'], row: DraftRow, other: DraftRow): Finding {
  const { shown, place, output, term } = row;
  const destination = shownPath(row.destination);
  const atSource = whereIs(row, 'source');
  const atDestination = whereIs(row, 'destination');
  switch (kind) {
    case 'sameSource':
      return {
        code: 'SOURCE_REPEATED',
        message: `${atSource}${shown} becomes ${output} by ${other.place} already. Remove one of the two.`,
      };
    case 'sameDestination':
      return {
        code: 'DESTINATION_TAKEN',
        message: term
          ? `${atDestination}${destination} is the result of ${other.place} too${unlikeness(other, row)}. Give one of them another name.`
          : `${place} and ${other.place} would both become ${destination}${unlikeness(other, row)}. ${adviceOn(other, row)}`,
      };
    case 'destinationIsSource':
      return {
        code: 'DESTINATION_IS_SOURCE',
        message:
          other.row === row.row
            ? `${atDestination}${shown} would be replaced by its own result. Choose another folder with --out, or leave it out with --exclude.`
            : `${atDestination}${destination}, the result of ${shown}, is a source too: ${other.place}. Choose another folder with --out.`,
      };
    case 'destinationIsFolder':
      return {
        code: 'DESTINATION_TAKEN',
        message: `${atDestination}${destination}, the result of ${shown}, and ${shownPath(other.destination)}, that of ${other.place}, need a file and a folder of one name. Give one of them another name.`,
      };
  }
}

/** Explains why two names that look different are the same. */
function unlikeness(other: DraftRow, { destination }: DraftRow): string {
  return other.destination === destination
    ? ''
    : ` (there ${shownPath(other.destination)}, which many file systems take for the same name)`;
}

function adviceOn(other: DraftRow, { source, destination }: DraftRow): string {
  const isBeside = folderOf(other.source) === folderOf(source);
  if (isBeside && other.destination !== destination) return 'Rename one of them.';
  const [one, two] = [nameOf(other.source), nameOf(source)];
  const isOfOneFormat = one.ext.toLowerCase() === two.ext.toLowerCase();
  if (isBeside && isOfOneFormat) {
    return one.name === two.name
      ? 'Run two batches with different --out folders.'
      : 'Keep their names apart with {name} in the --template.';
  }
  return isOfOneFormat
    ? 'Name the folder that holds both of their folders, or run two batches with different --out folders.'
    : "Convert them into different --out folders, or keep their extensions apart in a batch: --template '{dir}/{name}.{from}.{ext}'.";
}

/** A key that is equal for paths that some file systems treat as one: they ignore case or Unicode normalization. */
function comparable(uri: string): string {
  return isLocal(uri) ? decoded(uri).normalize().toLowerCase() : uri;
}

type Key = readonly [number, number, number];

/**
 * Maps keys to rows. A key is a 96-bit hash; one in 10^17 plans with a million rows has a collision. Lies outside of V8's heap,
 * where the plan of a million rows took more than a gigabyte.
 */
class KeyTable {
  /** Slots of four words: the key, and the row plus one, or 0 if the slot is free. */
  #words = new Uint32Array(4 * 1_024);
  #count = 0;

  get isEmpty(): boolean {
    return this.#count === 0;
  }

  get(key: Key): number | undefined {
    return this.#rowAt(this.#slotOf(key));
  }

  /** Assigns the key to a row. If another row holds it, returns that row instead. */
  claim(key: Key, row: number): number | undefined {
    const slot = this.#slotOf(key);
    const holder = this.#rowAt(slot);
    if (holder !== undefined) return holder;
    this.#words.set(key, slot);
    this.#words[slot + 3] = row + 1;
    this.#count += 1;
    if (this.#count * 8 > this.#words.length) this.#grow();
    return undefined;
  }

  #rowAt(slot: number): number | undefined {
    const found = this.#words[slot + 3] ?? 0;
    return found === 0 ? undefined : found - 1;
  }

  /** The slot that holds the key, or else the free one for it. */
  #slotOf(key: Key): number {
    const words = this.#words;
    const [one, two, three] = key;
    const holds = (slot: number) => words[slot] === one && words[slot + 1] === two && words[slot + 2] === three;
    let slot = (one * 4) % words.length;
    while (words[slot + 3] !== 0 && !holds(slot)) slot = (slot + 4) % words.length;
    return slot;
  }

  #grow(): void {
    const before = this.#words;
    this.#words = new Uint32Array(before.length * 2);
    for (let slot = 0; slot < before.length; slot += 4) {
      const [one = 0, two = 0, three = 0, row] = before.subarray(slot, slot + 4);
      if (row) this.#words.set([one, two, three, row], this.#slotOf([one, two, three]));
    }
  }
}

function hashOf(key: string): Key {
  const digest = hash('sha256', key, 'buffer');
  return [digest.readUInt32LE(0), digest.readUInt32LE(4), digest.readUInt32LE(8)];
}
