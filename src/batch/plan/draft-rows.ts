import { createReadStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { defined } from '../../shared/defined';
import { StorageError } from '../../storage/errors';
import type { FileSnapshot, FileStore } from '../../storage/file-store';
import { shownPath } from '../../storage/file-uri';
import { resolveDestination, type DestinationRules, type ResolvedDestination } from '../destinations/resolve';
import { JsonlWriter, readLines } from '../lines';
import { parametersSchema } from '../run-files';
import type { EarlierResults } from '../runs/earlier-results';
import { folderOf, nameOf } from '../uris';
import { whereIs, type Candidate } from './candidate';
import { Conflicts, type Conflict } from './conflicts';
import type { Findings, NamedRow } from './findings';
import { mapOrdered } from './map-ordered';

/** Number of files that were found but are not rows, by reason. */
export interface LeftOut {
  /** Found more than once, for example by a pattern and in a folder. */
  repeated: number;
  /** Not changed since `modifiedSince`. */
  unmodified: number;
  /** Changed within `settledForMs`, so possibly still being written. */
  unsettled: number;
  /** Results of an earlier run of this batch, found in the folder of the sources. */
  ownResults: number;
}

export interface Drafting {
  files: FileStore;
  candidates: AsyncIterable<Candidate>;
  rules: DestinationRules;
  earlier: EarlierResults;
  draft: DraftFile;
  problems: Findings;
  warnings: Findings;
  leftOut: LeftOut;
  /** Milliseconds since the epoch. */
  modifiedSince: number | undefined;
  settledForMs: number | undefined;
  now: () => number;
  signal: AbortSignal | undefined;
}

export interface DraftedRows {
  /** Destinations that the latest run does not know but older runs may. */
  unknown: string[];
  /** Of a source that has several rows. */
  firstRowOf: (source: string) => number | undefined;
}

/** Enough to hide the latency of a network file system. */
const looksUnderWay = 32;

interface Seen {
  candidate: Candidate;
  source: FileSnapshot;
  resolved: ResolvedDestination | { code: 'ROW_INVALID'; problem: string };
  destination: FileSnapshot | undefined;
}

/**
 * The first pass: checks each candidate, resolves its destination and writes the valid rows to the draft in order.
 * Everything that prevents a run becomes a problem.
 */
export async function draftRows(drafting: Drafting): Promise<DraftedRows> {
  const { files, candidates, rules, draft, earlier, signal } = drafting;
  const conflicts = new Conflicts();
  const unknown: string[] = [];
  let row = 0;
  const seeing = (candidate: Candidate) => see(files, candidate, rules);
  for await (const seen of mapOrdered(candidates, { concurrency: looksUnderWay, signal }, seeing)) {
    if (isLeftOut(seen, drafting)) continue;
    const planned = toRow(seen, row + 1, drafting);
    if (!planned) continue;
    const { candidate, source, destination } = seen;
    const conflict = conflicts.add({
      ...planned,
      sourceIdentity: source.kind === 'file' ? source.identity : undefined,
      destinationIdentity: destination?.kind === 'file' ? destination.identity : undefined,
    });
    if (conflict?.kind === 'sameSource' && candidate.how !== 'row') {
      drafting.leftOut.repeated += 1;
      continue;
    }
    row += 1;
    await draft.write(planned);
    if (conflict) {
      const { kind, otherRow } = conflict;
      const explain = (other: NamedRow) => explainConflict(kind, { planned, candidate, other });
      drafting.problems.addAbout(codeOfConflict[kind], otherRow, explain);
    }
    warnOf(seen, planned, drafting.warnings);
    const { destination: uri, exists } = planned;
    if (earlier.mayBeKnownFurther(uri, exists)) unknown.push(uri);
  }
  return { unknown, firstRowOf: (source) => conflicts.firstRowOf(source) };
}

async function see(files: FileStore, candidate: Candidate, rules: DestinationRules): Promise<Seen> {
  const resolved = resolveDestination(candidate, rules);
  try {
    const [source, destination] = await Promise.all([
      candidate.found ?? files.look(candidate.source),
      'uri' in resolved ? files.look(resolved.uri) : undefined,
    ]);
    return { candidate, source, resolved, destination };
  } catch (error) {
    if (!(error instanceof StorageError) || error.code !== 'UNSUPPORTED_URI') throw error;
    const { message: problem, uri } = error;
    // Told without the query of a web address.
    const code = candidate.source.startsWith(uri) ? 'ROW_INVALID' : 'DESTINATION_INVALID';
    const source = { kind: 'none', reason: problem, isLink: false } as const;
    return { candidate, source, resolved: { code, problem }, destination: undefined };
  }
}

function isLeftOut({ candidate, source }: Seen, drafting: Drafting): boolean {
  const { modifiedSince, settledForMs, earlier, leftOut, warnings } = drafting;
  if (candidate.how === 'found' && source.kind === 'none') {
    warnings.add('SOURCE_NOT_FOUND', `${candidate.shown} is gone since it was found. It is left out.`);
    return true;
  }
  if (source.kind !== 'file') return false;
  if (modifiedSince !== undefined && source.modifiedAt < modifiedSince) {
    leftOut.unmodified += 1;
    return true;
  }
  if (settledForMs !== undefined && Math.abs(drafting.now() - source.modifiedAt) < settledForMs) {
    leftOut.unsettled += 1;
    return true;
  }
  if (candidate.how === 'found' && earlier.find(candidate.source)?.delivered) {
    leftOut.ownResults += 1;
    return true;
  }
  return false;
}

function toRow(
  { candidate, source, resolved, destination }: Seen,
  row: number,
  drafting: Drafting,
): DraftRow | undefined {
  if (!('uri' in resolved)) {
    const column = resolved.code === 'ROW_INVALID' ? 'source' : 'destination';
    const where = whereIs(candidate, column) || `The result of ${candidate.shown}: `;
    drafting.problems.add(resolved.code, `${where}${resolved.problem}`);
    return undefined;
  }
  const { output, input, parameters, place } = candidate;
  return defined({
    row,
    place,
    source: candidate.source,
    destination: resolved.uri,
    output,
    input,
    parameters,
    stamp: source.kind === 'file' ? source.stamp : undefined,
    bytes: source.kind === 'file' ? source.bytes : 0,
    exists: destination !== undefined && (destination.kind !== 'none' || destination.isLink),
  });
}

/** A source that cannot be converted is an item that fails: one missing file must not stop forty thousand. */
function warnOf({ candidate, source, destination }: Seen, planned: DraftRow, warnings: Findings): void {
  const where = whereIs(candidate, 'source') + candidate.shown;
  if (source.kind === 'none') {
    const reason = source.isLink ? 'is a symbolic link that leads nowhere' : source.reason;
    warnings.add('SOURCE_NOT_FOUND', `${where} ${reason}. Its item will fail.`);
  } else if (source.kind === 'folder') warnings.add('SOURCE_UNUSABLE', `${where} is a folder. Its item will fail.`);
  else if (source.kind === 'other') warnings.add('SOURCE_UNUSABLE', `${where} is no regular file. Its item will fail.`);
  else if (source.bytes === 0) warnings.add('SOURCE_UNUSABLE', `${where} is empty. Its item will fail.`);
  if (destination?.kind === 'folder') {
    const what = `${whereIs(candidate, 'destination')}${shownPath(planned.destination)} is a folder`;
    warnings.add('DESTINATION_INVALID', `${what}. The item of ${candidate.shown} will fail.`);
  }
}

const codeOfConflict = {
  sameSource: 'SOURCE_REPEATED',
  sameDestination: 'DESTINATION_TAKEN',
  destinationIsSource: 'DESTINATION_IS_SOURCE',
  sourceIsDestination: 'DESTINATION_IS_SOURCE',
  destinationIsFolder: 'DESTINATION_TAKEN',
} as const satisfies Record<Conflict['kind'], string>;

function explainConflict(
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
  const [one, two] = [nameOf(other.source).ext, nameOf(source).ext];
  if (isBeside && one.toLowerCase() === two.toLowerCase())
    return 'Keep their names apart with {name} in the --template.';
  return one.toLowerCase() === two.toLowerCase()
    ? 'Name the folder that holds both of their folders, or run two batches with different --out folders.'
    : "Keep their extensions apart with --template '{dir}/{name}.{from}.{ext}', or run two batches with different --out folders.";
}

const draftRow = z.object({
  /** From 1. */
  row: z.int().positive(),
  place: z.string(),
  source: z.string(),
  destination: z.string(),
  output: z.string(),
  input: z.string().exactOptional(),
  parameters: parametersSchema.exactOptional(),
  /** Of the source when first seen; absent if it cannot be read. */
  stamp: z.string().exactOptional(),
  bytes: z.number(),
  /** Something already exists at the destination. */
  exists: z.boolean(),
});

/** A row that was checked by itself but not yet compared with earlier runs. */
export type DraftRow = z.infer<typeof draftRow>;

/** The rows between the two passes of planning, on disk because their number is unlimited. */
export class DraftFile {
  private constructor(
    private readonly folder: string,
    private readonly writer: JsonlWriter,
  ) {}

  static async create(temporaryFolder: string): Promise<DraftFile> {
    const folder = await mkdtemp(path.join(temporaryFolder, 'fileconv-plan-'));
    try {
      return new DraftFile(folder, await JsonlWriter.create(path.join(folder, 'draft.jsonl')));
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  }

  write(row: DraftRow): Promise<void> {
    return this.writer.write(row);
  }

  async *rows(signal?: AbortSignal): AsyncGenerator<DraftRow> {
    await this.writer.flush();
    const stream = createReadStream(path.join(this.folder, 'draft.jsonl'), { signal });
    for await (const { bytes } of readLines(stream)) yield draftRow.parse(JSON.parse(bytes.toString()));
  }

  async remove(): Promise<void> {
    await this.writer.close();
    await rm(this.folder, { recursive: true, force: true });
  }
}
