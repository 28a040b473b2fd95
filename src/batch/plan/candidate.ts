import path from 'node:path';
import { mergeParameters, type ConversionParameters } from '../../shared/parameters';
import type { FileStore, FoundFile } from '../../storage/file-store';
import { openInput } from '../contents';
import { notAName } from '../destinations/resolve';
import type { ColumnTerm } from '../manifest/manifest-row';
import { readManifest } from '../manifest/read-manifest';
import { findSources, type SourceLookup, type SourceSelection } from '../sources/find-sources';
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

export interface FileSelection extends SourceSelection {
  /** Target formats of each file. */
  to: string | readonly string[];
  input?: string;
  parameters?: ConversionParameters;
}

export async function* candidatesOfSources(selection: FileSelection, lookup: SourceLookup): AsyncGenerator<Candidate> {
  const { to, input, parameters } = selection;
  const outputs = new Set(typeof to === 'string' ? [to] : to);
  for await (const { uri: source, found, shown, dir, how } of findSources(selection, lookup)) {
    for (const output of outputs) {
      yield { source, found, shown, place: shown, dir, output, input, parameters, how };
    }
  }
}

export interface ManifestSelection {
  /** URI, or the content. */
  manifest: string | AsyncIterable<Buffer>;
  /** As typed; its extension tells CSV from JSON Lines. */
  name: string;
  /** Relative sources start from it. */
  folder: string;
  /** Default target format. */
  to?: string;
  /** Default input format. */
  input?: string;
  /** Where a row does not say otherwise. */
  parameters?: ConversionParameters;
}

/** The valid rows of a manifest; each error in another row becomes a finding. */
export async function* candidatesOfManifest(
  { manifest, name, folder, to, input: defaultInput, parameters: common }: ManifestSelection,
  {
    files,
    problems,
    warnings,
    signal,
  }: { files: FileStore; problems: Findings; warnings: Findings; signal: AbortSignal | undefined },
): AsyncGenerator<Candidate> {
  const chunks = typeof manifest === 'string' ? await openInput(files, manifest, signal) : manifest;
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
