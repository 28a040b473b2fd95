import { hash } from 'node:crypto';
import { parametersKey } from '../../shared/parameters';
import { shownPath } from '../../storage/file-uri';
import { decoded } from '../../shared/job';
import { folderOf, isLocal, nameOf } from '../uris';
import { type DraftRow, whereIs } from './candidate';
import type { Finding } from './findings';

/** Of a row with another one, which may be the row itself. */
interface Conflict {
  kind: 'sameSource' | 'sameDestination' | 'destinationIsSource' | 'destinationIsFolder';
  otherRow: number;
}

/**
 * Finds the rows that are in each other's way, among any number of them: all rows are added before the first is asked about. Names of
 * local files are compared regardless of case, as some systems do.
 */
export class Conflicts {
  readonly #conversions = new KeyTable();
  readonly #sources = new KeyTable();
  readonly #sharedSources = new KeyTable();
  readonly #destinations = new KeyTable();
  /** The second row of a destination. */
  readonly #sharedDestinations = new KeyTable();
  readonly #folders = new KeyTable();
  /** By folder, what `#fileAbove` has found; 0: none. */
  readonly #filesAbove = new KeyTable();
  #lastFolder = '';

  /** `identity`: of the source. Returns whether another row has the same source and options already; one that was found is then not added. */
  add(added: DraftRow, { identity, isFound }: { identity: string | undefined; isFound: boolean }): boolean {
    const { row, source, destination, refused } = added;
    // What is wrong by itself takes no place, and its source may not be replaced all the same.
    const isPlaced = !refused?.isUnclear;
    const isCompared = isPlaced || (isFound && source !== '');
    const twin = isCompared ? this.#conversions.claim(conversionOf(added), row) : undefined;
    if (twin !== undefined && isFound) return true;
    if (source !== '') {
      const key = comparable(source);
      // A file may be converted to two formats: its first row stands for both.
      const firstRow = this.#sources.claim(key, row);
      if (firstRow !== undefined && twin === undefined) this.#sharedSources.claim(key, firstRow);
      if (identity !== undefined) this.#sources.claim(`#${identity}`, row);
    }
    if (isPlaced) this.#addDestination(row, destination, twin);
    return twin !== undefined;
  }

  /** The first conflict of a row. */
  of(asked: DraftRow): Conflict | undefined {
    const { row, destination, replaced } = asked;
    const key = comparable(destination);
    const is = (kind: Conflict['kind'], otherRow: number | undefined) =>
      otherRow === undefined ? undefined : { kind, otherRow };
    const another = (otherRow: number | undefined) => (otherRow === row ? undefined : otherRow);
    return (
      is('sameSource', another(this.#conversions.get(conversionOf(asked)))) ??
      is('sameDestination', another(this.#destinations.get(key)) ?? this.#sharedDestinations.get(key)) ??
      is('destinationIsSource', this.#sources.get(key)) ??
      // It may be there under another name.
      is('destinationIsSource', replaced === undefined ? undefined : this.#sources.get(`#${replaced}`)) ??
      is(
        'destinationIsFolder',
        this.#folders.get(`${key}/`) ?? (isLocal(destination) ? this.#fileAbove(folderOf(destination)) : undefined),
      )
    );
  }

  /** The first row of a source that has several rows. */
  firstRowOf(source: string): number | undefined {
    return this.#sharedSources.get(comparable(source));
  }

  #addDestination(row: number, destination: string, twin: number | undefined): void {
    const key = comparable(destination);
    const firstRow = this.#destinations.claim(key, row);
    if (firstRow !== undefined && firstRow !== twin) this.#sharedDestinations.claim(key, row);
    if (!isLocal(destination)) return;
    let folder = folderOf(destination);
    // Rows mostly come folder by folder.
    if (folder === this.#lastFolder) return;
    this.#lastFolder = folder;
    while (folderOf(folder) !== folder && this.#folders.claim(comparable(folder), row) === undefined) {
      folder = folderOf(folder);
    }
  }

  /** The row whose result would have the name of this folder, or of one above. */
  #fileAbove(folder: string): number | undefined {
    if (folderOf(folder) === folder) return undefined;
    const key = comparable(folder);
    const known = this.#filesAbove.get(key);
    if (known !== undefined) return known === 0 ? undefined : known;
    const file = this.#destinations.get(key.slice(0, -1)) ?? this.#fileAbove(folderOf(folder));
    this.#filesAbove.claim(key, file ?? 0);
    return file;
  }
}

function conversionOf({ source, output, input = '', parameters }: DraftRow): string {
  return `${output} ${input}${parametersKey(parameters)}\0${source}`;
}

/** Why a row fails that is in the way of another. */
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
          : `${place} and ${other.place} would both become ${destination}${unlikeness(other, row)}. ${cureOf(other, row)}`,
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

function cureOf(other: DraftRow, { source, destination }: DraftRow): string {
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
    : "Keep their extensions apart with --template '{dir}/{name}.{from}.{ext}', or run two batches with different --out folders.";
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
