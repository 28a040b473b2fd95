import path from 'node:path';
import type { BatchItem, BatchManifest, BatchSources, Refusal } from '../model/types';
import { mergeParameters, type ConversionParameters } from '../../job/parameters';
import { defined } from '../../job/defined';
import { StorageError } from '../../storage/errors';
import type { FileSnapshot, FileStore, FoundFile } from '../../storage/file-store';
import { shownPath, toPath } from '../../storage/file-uri';
import { lookAtSource, openInput } from '../contents';
import { type DestinationRules, notAName, resolveDestination, type ResolvedDestination } from '../destinations/resolve';
import type { Ledger } from '../ledger';
import type { ManifestRow } from '../manifest/manifest-row';
import { readManifest } from '../manifest/read-manifest';
import { findSources, type SourceLookup } from '../sources/find-sources';
import { folderOf, isInside, relativeTo, resolveName, shownAsWritten, shownFolder } from '../uris';
import type { Finding, Findings } from '../findings';

export interface Candidate {
  /** Empty if unknown. */
  source: string;
  /** Why it can't become an item. */
  refusal?: Finding | undefined;
  /** Set if the search has already looked at the file. */
  found?: FoundFile | undefined;
  /** As the user typed it, or derived from that. */
  shown: string;
  /** How messages about other rows refer to this one. */
  place: string;
  /** Only for a row of a manifest. */
  term?: ManifestRow['term'] | undefined;
  /** Folder of the source relative to the named folder; empty if they are the same. */
  dir: string;
  output: string;
  input?: string | undefined;
  parameters?: ConversionParameters | undefined;
  /** As written in the manifest. */
  destination?: string;
  /** URI of the result, if already decided; empty if unknown. */
  uri?: string;
  /** `row`: from a manifest, or from the last run; the others as in `FoundSource`. */
  how: 'row' | 'named' | 'listed' | 'found';
}

/** The start of a message about one value of a candidate: its row and column, if it comes from a manifest. */
export function whereIs({ place, term }: Pick<Candidate, 'place' | 'term'>, column: 'source' | 'destination'): string {
  return term === undefined ? '' : `${place}, ${term} ${column}: `;
}

export async function* candidatesOfSources(selection: BatchSources, lookup: SourceLookup): AsyncGenerator<Candidate> {
  const { to, input, parameters } = selection;
  const outputs = new Set(typeof to === 'string' ? [to] : to);
  for await (const { uri: source, shown, ...found } of findSources(selection, lookup)) {
    for (const output of outputs) yield { source, shown, place: shown, ...found, output, input, parameters };
  }
}

export async function* candidatesOfManifest(
  { manifest, name, folder, to, input: defaultInput, parameters: common }: BatchManifest,
  {
    files,
    stdin,
    problems,
    warnings,
    signal,
  }: Pick<SourceLookup, 'files' | 'stdin' | 'problems' | 'warnings' | 'signal'>,
): AsyncGenerator<Candidate> {
  const chunks = manifest === '-' && stdin ? stdin : await openInput(files, manifest, signal);
  if ('problem' in chunks) {
    problems.add('MANIFEST_INVALID', `${name} ${chunks.problem}`);
    return;
  }
  for await (const row of readManifest(chunks, { name, defaultOutput: to, findings: problems, warnings })) {
    const place = `${name} line ${row.line}`;
    const none = (shown: string, message: string): Candidate => ({
      ...{ source: '', shown, place, dir: '', output: '', how: 'row' },
      refusal: { code: 'ROW_INVALID', message },
    });
    if ('problem' in row) {
      yield none('', row.problem);
      continue;
    }
    const { term, output, input = defaultInput, destination } = row;
    const source = resolveName(row.source, folder);
    if (source === undefined) {
      yield none(shownAsWritten(row.source), `${place}, ${term} source: ${notAName(row.source)}`);
      continue;
    }
    const dir = isInside(folder, source) ? path.posix.dirname(relativeTo(folder, source)) : '.';
    const at = { source, shown: shownAsWritten(row.source), place, term, dir: dir === '.' ? '' : dir };
    const parameters = mergeParameters(common, row.parameters);
    yield { ...at, output, input, parameters, ...(destination !== undefined && { destination }), how: 'row' };
  }
}

export function* candidatesOfLedger(ledger: Ledger): Generator<Candidate> {
  for (const { source, destination: uri, options, refused } of ledger.rowsOfLastRun()) {
    const shown = shownPath(source);
    const refusal = refused?.isUnclear ? ({ code: refused.code, message: refused.message } as Finding) : undefined;
    yield { source, shown, place: shown, dir: '', input: undefined, ...options, uri, refusal, how: 'row' };
  }
}

/** A candidate after a look at its source and its destination. */
export interface SeenCandidate {
  candidate: Candidate;
  source: FileSnapshot;
  /** URI of the result; empty if unknown. */
  uri: string;
  destination?: FileSnapshot | undefined;
  /** Why it can't become an item. */
  refusal?: Finding | undefined;
}

const nowhere = { kind: 'none', reason: 'is nowhere', isLink: false } as const;

export async function lookAt(files: FileStore, candidate: Candidate, rules: DestinationRules): Promise<SeenCandidate> {
  const { refusal } = candidate;
  if (refusal) return { candidate, source: nowhere, uri: candidate.uri ?? '', refusal };
  const decided: ResolvedDestination | undefined = candidate.uri === undefined ? undefined : { uri: candidate.uri };
  const { uri = '', ...resolved } = decided ?? resolveDestination(candidate, rules);
  const refused = (code: Finding['code'], problem: string): Finding => {
    const where = whereIs(candidate, code === 'ROW_INVALID' ? 'source' : 'destination');
    return { code, message: `${where || `The result of ${candidate.shown}: `}${problem}` };
  };
  try {
    const [source, destination] = await Promise.all([
      candidate.found ?? lookAtSource(files, candidate.source),
      resolved.code ? undefined : files.look(uri),
    ]);
    const problem = resolved.code ? resolved : await strays(uri, rules);
    return { candidate, source, uri, destination, refusal: problem && refused(problem.code, problem.problem) };
  } catch (error) {
    if (!(error instanceof StorageError) || error.code !== 'UNSUPPORTED_URI') throw error;
    // `error.uri` lacks the query of a web address.
    const code = candidate.source.startsWith(error.uri) ? 'ROW_INVALID' : 'DESTINATION_INVALID';
    return { candidate, source: nowhere, uri, refusal: refused(code, error.message) };
  }
}

/** A folder below the out folder may be a link that leads out of it. */
async function strays(uri: string, { out, isInOut }: DestinationRules) {
  const folder = folderOf(uri);
  if (out === undefined || !isInOut || (await isInOut(toPath(folder)))) return undefined;
  const fix = 'Name the folder that it leads to with --out, or remove the link.';
  const problem = `${shownFolder(folder)} leads out of ${shownFolder(out)} by a link. ${fix}`;
  return { code: 'DESTINATION_OUTSIDE' as const, problem };
}

type Planned = Pick<BatchItem, 'source' | 'output' | 'input' | 'parameters' | 'destination' | 'refused'>;

/** A row that was checked alone, but not yet compared with other rows and earlier runs. */
export interface DraftRow extends Planned {
  /** From 1. */
  row: number;
  /** As in `Candidate`. */
  place: string;
  shown: string;
  term?: ManifestRow['term'];
  /** Stamp of the source when first seen; absent if it cannot be read. */
  stamp?: string;
  bytes: number;
  /** Something already exists at the destination. */
  exists: boolean | 'folder';
  /** Identity of the file at the destination. */
  replaced?: string;
  /** Its size. */
  resultBytes?: number;
}

export function toRow({ candidate, source, uri, destination, refusal }: SeenCandidate, row: number): DraftRow {
  const { output, input, parameters, place, shown, term } = candidate;
  const file = source.kind === 'file' ? source : undefined;
  const refused = refusal
    ? { ...refusal, isUnclear: true as const }
    : unusable(source, whereIs(candidate, 'source') + shown);
  return {
    ...{ row, place, shown, source: candidate.source, destination: uri, output },
    ...defined({ term, input, parameters, stamp: file?.stamp, refused }),
    bytes: file?.bytes ?? 0,
    exists:
      destination?.kind === 'folder'
        ? 'folder'
        : destination !== undefined && (destination.kind !== 'none' || destination.isLink),
    ...(destination?.kind === 'file' && { replaced: destination.identity, resultBytes: destination.bytes }),
  };
}

/** Why a source can't be converted, with the code its job would fail with. It is no problem of the plan: the other rows run. */
function unusable(source: FileSnapshot, shown: string): (Refusal & Finding) | undefined {
  switch (source.kind) {
    case 'file':
      return source.bytes > 0 ? undefined : { code: 'SOURCE_EMPTY', message: `${shown} is empty.` };
    case 'folder':
      return { code: 'SOURCE_IS_DIRECTORY', message: `${shown} is a folder.` };
    case 'other':
      return { code: 'SOURCE_UNREADABLE', message: `${shown} is not a regular file.` };
    case 'none': {
      if (source.mayPass) return undefined;
      const reason = source.isLink ? 'is a symbolic link that leads nowhere' : source.reason;
      return { code: source.isUnseen ? 'SOURCE_UNREADABLE' : 'SOURCE_NOT_FOUND', message: `${shown} ${reason}.` };
    }
  }
}

/** Warns about what only the job can decide. */
export function warnOf({ candidate, source, uri, destination }: SeenCandidate, warnings: Findings): void {
  if (source.kind === 'none' && source.mayPass) {
    const what = `${whereIs(candidate, 'source')}${candidate.shown} ${source.reason}`;
    warnings.add('SOURCE_NOT_FOUND', `${what}. Its job will try again, unless it was converted before.`);
  }
  if (destination?.kind === 'folder') {
    const what = `${whereIs(candidate, 'destination')}${shownPath(uri)} is a folder`;
    warnings.add(
      'DESTINATION_INVALID',
      `${what}. The item of ${candidate.shown} will fail, unless it was converted before or gets another name.`,
    );
  }
}
