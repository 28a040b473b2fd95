import { manifestColumns } from './manifest-row';

/** What separates the columns of a CSV manifest, and where its header stands. */
export interface CsvForm {
  readonly separator: string;
  readonly separatorName: string;
  /** From 1. */
  readonly firstLine: number;
}

const separators = [
  { separator: ',', separatorName: 'comma' },
  { separator: ';', separatorName: 'semicolon' },
  { separator: '\t', separatorName: 'tab' },
] as const;

/**
 * Spreadsheet programs write semicolons where a comma is part of numbers. The header tells, whose names are known, so that nothing is
 * guessed; or a line `sep=;` before it, as those programs write it too.
 *
 * @param head the beginning of the manifest, of two lines at least.
 */
export function csvFormOf(head: string): CsvForm {
  const named = /^"?sep=([,;\t])"?[\r\n]/i.exec(head)?.[1];
  const header = /^\s*(.*)/.exec(head)?.[1] ?? '';
  const [best] = separators
    .map((each) => ({ ...each, columns: header.split(each.separator).filter(isColumn).length }))
    .sort((one, other) => other.columns - one.columns);
  const form = separators.find(({ separator }) => separator === (named ?? best?.separator)) ?? separators[0];
  return { ...form, firstLine: named === undefined ? 1 : 2 };
}

function isColumn(name: string): boolean {
  const bare = name.replace(/^\s*"?|"?\s*$/g, '').toLowerCase();
  return manifestColumns.some((column) => column === bare.trim());
}
