import type { BatchItem } from '../model/types';
import { defined } from '../../job/defined';
import { formatNameOf, mergeParameters, problemOfParameters, readParameters } from '../../job/parameters';
import { closestName } from '../../messages/wording';
import type { Findings } from '../findings';

/** One row of a user's manifest, with all values as written. */
export interface ManifestRow extends Pick<BatchItem, 'source' | 'output' | 'input' | 'parameters'> {
  /** From 1; the first line of a row with quoted line breaks. */
  line: number;
  /** What the manifest's format calls a column. */
  term: ColumnTerm;
  destination?: string;
}

export interface BadRow {
  line: number;
  problem: string;
}

export const manifestColumns = ['source', 'output', 'input', 'parameters', 'destination'] as const;
export type ManifestColumn = (typeof manifestColumns)[number];
export type ColumnTerm = 'column' | 'key';
export type RawRow = Partial<Record<ManifestColumn, string>>;

export interface ManifestReading {
  /** As typed. */
  name: string;
  /** Default target format. */
  defaultOutput: string | undefined;
  /** Collects errors that make the whole manifest unreadable. */
  findings: Findings;
  /** Collects what the user should know about a manifest that can be run. */
  warnings: Findings;
}

/** The row, or all problems of its values. */
export function checkRow(
  raw: RawRow,
  { line, term, reading }: { line: number; term: ColumnTerm; reading: ManifestReading },
): ManifestRow | BadRow {
  const { name, defaultOutput } = reading;
  const problems: string[] = [];
  const problem = (column: ManifestColumn, what: string) =>
    problems.push(`${name} line ${line}, ${term} ${column}: ${what}`);
  for (const column of manifestColumns) {
    if (raw[column]?.includes('\0')) problem(column, 'there is a NUL byte in it. Remove it.');
  }
  const source = raw.source ?? '';
  if (source.trim() === '') problem('source', 'it is empty. Name the file to convert.');
  const output = valueOf(raw.output) ?? defaultOutput;
  if (output === undefined) problem('output', 'it is empty. Name the format to convert to, for example pdf.');
  const input = valueOf(raw.input);
  for (const [column, format] of [['output', output] as const, ['input', input] as const]) {
    if (format === undefined || format.includes('\0') || formatNameOf(format) !== undefined) continue;
    problem(column, `${JSON.stringify(format)} is not the name of a format. See: fileconv formats`);
  }
  const parameters = readParameters(raw.parameters ?? '');
  const wrong = parameters ? problemOfParameters(parameters) : 'must be written as in dpi=150 page_size=a5';
  if (wrong !== undefined) problem('parameters', `${wrong}.`);
  if (output === undefined || problems.length > 0) return { line, problem: problems.join(' ') };
  return defined({
    line,
    term,
    source,
    output: formatNameOf(output) ?? output,
    input: input && (formatNameOf(input) ?? input),
    parameters: mergeParameters(undefined, parameters),
    destination: raw.destination?.trim() === '' ? undefined : raw.destination,
  });
}

/** The end of a message about an unknown column or key. */
export function suggestColumn(column: string, term: ColumnTerm): string {
  const closest = closestName(column, manifestColumns);
  return closest === undefined
    ? `${term === 'key' ? 'Keys' : 'Columns'} are ${manifestColumns.join(', ')}.`
    : `Did you mean ${closest}?`;
}

/** Formats do not begin or end with spaces; file names may, so they are not trimmed. */
function valueOf(text: string | undefined): string | undefined {
  const trimmed = text?.trim();
  return trimmed === '' ? undefined : trimmed;
}
