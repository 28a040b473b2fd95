import path from 'node:path';
import { z } from 'zod';
import type { BatchManifest, BatchSources } from '../../shared/batch';
import { mergeParameters, type ConversionParameters } from '../../shared/parameters';
import { defined } from '../../shared/defined';
import { StorageError } from '../../storage/errors';
import type { FileSnapshot, FileStore, FoundFile } from '../../storage/file-store';
import { shownPath } from '../../storage/file-uri';
import { lookAtSource, openInput } from '../contents';
import { type DestinationRules, notAName, type ResolvedDestination, resolveDestination } from '../destinations/resolve';
import type { ColumnTerm } from '../manifest/manifest-row';
import { readManifest } from '../manifest/read-manifest';
import { itemSchema } from '../run-files';
import { findSources, type SourceLookup } from '../sources/find-sources';
import { isInside, relativeTo, resolveName, shownAsWritten } from '../uris';
import type { Findings } from './findings';

export interface Candidate {
  source: string;
  /** As it was found, if that is known without another look. */
  found?: FoundFile | undefined;
  /** As the user typed it, or derived from that. */
  shown: string;
  /** How messages about other rows refer to this one. */
  place: string;
  /** Only for a row of a manifest. */
  term?: ColumnTerm;
  /** Folder of the source relative to the named folder; empty if they are the same. */
  dir: string;
  output: string;
  input?: string | undefined;
  parameters?: ConversionParameters | undefined;
  destination?: string;
  /** `row`: from a manifest; the others as in `FoundSource`. */
  how: 'row' | 'named' | 'listed' | 'found';
}

/** The start of a message about one value of a candidate: its row and column, if it comes from a manifest. */
export function whereIs({ place, term }: Candidate, column: 'source' | 'destination'): string {
  return term === undefined ? '' : `${place}, ${term} ${column}: `;
}

export async function* candidatesOfSources(selection: BatchSources, lookup: SourceLookup): AsyncGenerator<Candidate> {
  const { to, input, parameters } = selection;
  const outputs = new Set(typeof to === 'string' ? [to] : to);
  for await (const { uri: source, found, shown, dir, how } of findSources(selection, lookup)) {
    for (const output of outputs) {
      yield { source, found, shown, place: shown, dir, output, input, parameters, how };
    }
  }
}

/** The valid rows of a manifest; each error in another row becomes a finding. */
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
    const { line, term, output, input = defaultInput, destination } = row;
    const place = `${name} line ${line}`;
    const source = resolveName(row.source, folder);
    if (source === undefined) {
      problems.add('ROW_INVALID', `${place}, ${term} source: ${notAName(row.source)}`);
      continue;
    }
    const dir = isInside(folder, source) ? path.posix.dirname(relativeTo(folder, source)) : '.';
    const at = { source, shown: shownAsWritten(row.source), place, term, dir: dir === '.' ? '' : dir };
    const parameters = mergeParameters(common, row.parameters);
    yield { ...at, output, input, parameters, ...(destination !== undefined && { destination }), how: 'row' };
  }
}

/** A candidate with what is at its source and at its destination. */
export interface SeenCandidate {
  candidate: Candidate;
  source: FileSnapshot;
  resolved: ResolvedDestination | { code: 'ROW_INVALID'; problem: string };
  destination: FileSnapshot | undefined;
}

export async function lookAt(files: FileStore, candidate: Candidate, rules: DestinationRules): Promise<SeenCandidate> {
  const resolved = resolveDestination(candidate, rules);
  try {
    const [source, destination] = await Promise.all([
      candidate.found ?? lookAtSource(files, candidate.source),
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

export const draftRow = itemSchema
  .pick({ source: true, output: true, input: true, parameters: true, destination: true })
  .extend({
    /** From 1. */
    row: z.int().positive(),
    place: z.string(),
    /** Of the source when first seen; absent if it cannot be read. */
    stamp: z.string().exactOptional(),
    bytes: z.number(),
    /** Something already exists at the destination. */
    exists: z.boolean(),
  });

/** A row that was checked by itself but not yet compared with earlier runs. */
export type DraftRow = z.infer<typeof draftRow>;

/** Undefined if the candidate can be no row, which is a problem. */
export function toRow(
  { candidate, source, resolved, destination }: SeenCandidate,
  row: number,
  problems: Findings,
): DraftRow | undefined {
  if (!('uri' in resolved)) {
    const column = resolved.code === 'ROW_INVALID' ? 'source' : 'destination';
    const where = whereIs(candidate, column) || `The result of ${candidate.shown}: `;
    problems.add(resolved.code, `${where}${resolved.problem}`);
    return undefined;
  }
  const { output, input, parameters, place } = candidate;
  const file = source.kind === 'file' ? source : undefined;
  return {
    ...{ row, place, source: candidate.source, destination: resolved.uri, output },
    ...defined({ input, parameters, stamp: file?.stamp }),
    bytes: file?.bytes ?? 0,
    exists: destination !== undefined && (destination.kind !== 'none' || destination.isLink),
  };
}

/** A source that cannot be converted is an item that fails: one missing file must not stop forty thousand. */
export function warnOf({ candidate, source, resolved, destination }: SeenCandidate, warnings: Findings): void {
  const where = whereIs(candidate, 'source') + candidate.shown;
  if (source.kind === 'none') {
    const reason = source.isLink ? 'is a symbolic link that leads nowhere' : source.reason;
    const fate = source.mayPass ? 'Its job will try again, unless it was converted before' : 'Its item will fail';
    warnings.add('SOURCE_NOT_FOUND', `${where} ${reason}. ${fate}.`);
  } else if (source.kind === 'folder') warnings.add('SOURCE_UNUSABLE', `${where} is a folder. Its item will fail.`);
  else if (source.kind === 'other') warnings.add('SOURCE_UNUSABLE', `${where} is no regular file. Its item will fail.`);
  else if (source.bytes === 0) warnings.add('SOURCE_UNUSABLE', `${where} is empty. Its item will fail.`);
  if (destination?.kind === 'folder' && 'uri' in resolved) {
    const what = `${whereIs(candidate, 'destination')}${shownPath(resolved.uri)} is a folder`;
    warnings.add('DESTINATION_INVALID', `${what}. The item of ${candidate.shown} will fail.`);
  }
}
