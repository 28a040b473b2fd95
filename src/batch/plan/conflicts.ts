import { hash } from 'node:crypto';
import { parametersKey } from '../../shared/parameters';
import { shownPath } from '../../storage/file-uri';
import { decoded } from '../../shared/job';
import { folderOf, isLocal, nameOf } from '../uris';
import { type Candidate, type DraftRow, type SeenCandidate, whereIs } from './candidate';
import type { NamedRow } from './findings';

/** A conflict between two rows. `otherRow` may be the row itself. */
interface Conflict {
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
  add({ row, source, output, parameters, destination }: DraftRow, seen: SeenCandidate): Conflict | undefined {
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
      ...this.#compareIdentities(row, seen),
      ...this.#compareFolders(row, destination),
    ];
    return found[0];
  }

  /** The first row of a source that has several rows. */
  firstRowOf(source: string): number | undefined {
    return this.#sharedSources.get(comparable(source));
  }

  /** An existing destination may be a source under another name. */
  #compareIdentities(row: number, { source, destination }: SeenCandidate): Conflict[] {
    const found: Conflict[] = [];
    if (source.kind === 'file') {
      this.#sources.claim(`#${source.identity}`, row);
      found.push(...conflict('sourceIsDestination', this.#existing.get(source.identity)));
    }
    if (destination?.kind === 'file') {
      this.#existing.claim(destination.identity, row);
      found.push(...conflict('destinationIsSource', this.#sources.get(`#${destination.identity}`)));
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

export const codeOfConflict = {
  sameSource: 'SOURCE_REPEATED',
  sameDestination: 'DESTINATION_TAKEN',
  destinationIsSource: 'DESTINATION_IS_SOURCE',
  sourceIsDestination: 'DESTINATION_IS_SOURCE',
  destinationIsFolder: 'DESTINATION_TAKEN',
} as const satisfies Record<Conflict['kind'], string>;

export function explainConflict(
  kind: Conflict['kind'],
  { planned, candidate, other }: { planned: DraftRow; candidate: Candidate; other: NamedRow },
): string {
  const { shown, place } = candidate;
  const { output, row } = planned;
  const destination = shownPath(planned.destination);
  const atSource = whereIs(candidate, 'source');
  const atDestination = whereIs(candidate, 'destination');
  switch (kind) {
    case 'sameSource':
      return `${atSource}${shown} becomes ${output} by ${other.place} already. Remove one of the two.`;
    case 'sameDestination':
      return candidate.how === 'row'
        ? `${atDestination}${destination} is the result of ${other.place} too${unlikeness(other, planned)}. Give one of them another name.`
        : `${other.place} and ${place} would both become ${destination}${unlikeness(other, planned)}. ${cureOf(other, planned)}`;
    case 'destinationIsSource':
      return other.row === row
        ? `${atDestination}${shown} would be replaced by its own result. Choose another folder with --out, or leave it out with --exclude.`
        : `${atDestination}${destination}, the result of ${shown}, is a source too: ${other.place}. Choose another folder with --out.`;
    case 'sourceIsDestination':
      return `${atSource}${shown} would be replaced by the result of ${other.place}. Choose another folder with --out.`;
    case 'destinationIsFolder':
      return `${atDestination}${destination}, the result of ${shown}, and ${shownPath(other.destination)}, that of ${other.place}, need a file and a folder of one name. Give one of them another name.`;
  }
}

/** Explains why two names that look different are the same. */
function unlikeness(other: NamedRow, { destination }: DraftRow): string {
  return other.destination === destination
    ? ''
    : ` (there ${shownPath(other.destination)}, which many file systems take for the same name)`;
}

function cureOf(other: NamedRow, { source, destination }: DraftRow): string {
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
