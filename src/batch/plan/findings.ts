/** What planning a batch can find. The codes are part of `--json`: they never change. */
export const findingCodes = [
  /** The manifest cannot be read as CSV or JSONL, or its columns are wrong. */
  'MANIFEST_INVALID',
  /** The manifest is not UTF-8 and is read in its most likely encoding. */
  'ENCODING_GUESSED',
  /** An invalid value in a row of the manifest or of a file list. */
  'ROW_INVALID',
  'SOURCE_NOT_FOUND',
  /** A folder, a device or an empty file. */
  'SOURCE_UNUSABLE',
  /** The service does not convert such files. */
  'FORMAT_UNUSABLE',
  'SOURCE_REPEATED',
  'NO_SOURCES',
  'TEMPLATE_INVALID',
  'DESTINATION_INVALID',
  'DESTINATION_OUTSIDE',
  'DESTINATION_TAKEN',
  'DESTINATION_IS_SOURCE',
  'DESTINATION_EXISTS',
  /** Delivered before, and not there any more. */
  'RESULT_MISSING',
] as const;
type FindingCode = (typeof findingCodes)[number];

export interface Finding {
  code: FindingCode;
  /** What is wrong, where, and what to do about it. */
  message: string;
}

/** The first findings, and the total number. */
export interface FindingList {
  count: number;
  listed: readonly Finding[];
}

export interface NamedRow {
  row: number;
  /** How messages name the row: its source, or its line in the manifest. */
  place: string;
  source: string;
  destination: string;
}

interface PendingFinding {
  code: FindingCode;
  otherRow: number;
  describe: (other: NamedRow) => string;
}

const maxListed = 100;

/** Counts every finding, but keeps only the first ones. */
export class Findings {
  #count = 0;
  readonly #kept: (Finding | PendingFinding)[] = [];

  get count(): number {
    return this.#count;
  }

  add(code: FindingCode, message: string): void {
    this.#keep({ code, message });
  }

  /** A finding about two rows; only the number of the other one is known until `list` is called. */
  addAbout(code: FindingCode, otherRow: number, describe: (other: NamedRow) => string): void {
    this.#keep({ code, otherRow, describe });
  }

  /** @param rows all rows; those that messages refer to are looked up in one pass. */
  async list(rows: () => AsyncIterable<NamedRow> = noRows): Promise<FindingList> {
    const wanted = new Set(this.#kept.flatMap((each) => ('otherRow' in each ? [each.otherRow] : [])));
    const found = new Map<number, NamedRow>();
    if (wanted.size > 0) {
      for await (const row of rows()) if (wanted.has(row.row)) found.set(row.row, row);
    }
    const listed = this.#kept.map((each): Finding => {
      if ('message' in each) return each;
      const { code, otherRow, describe } = each;
      const other = found.get(otherRow) ?? { row: otherRow, place: `row ${otherRow}`, source: '', destination: '' };
      return { code, message: describe(other) };
    });
    return { count: this.#count, listed };
  }

  #keep(finding: Finding | PendingFinding): void {
    this.#count += 1;
    if (this.#kept.length < maxListed) this.#kept.push(finding);
  }
}

/** A line for each of the first few, and one for the rest. */
export function messagesOf({ count, listed }: FindingList, atMost = listed.length): string[] {
  const told = listed.slice(0, atMost).map(({ message }) => message);
  return count > told.length ? [...told, `and ${count - told.length} more.`] : told;
}

export async function* noRows(): AsyncGenerator<never> {
  // None.
}

const maxTold = 5;

/** A plan has problems, so there is no run. The code is that of the first; the message lists the first few. */
export class RefusedPlanError extends Error {
  override readonly name = 'RefusedPlanError';
  readonly code: FindingCode;

  constructor(
    readonly problems: FindingList,
    /** What was left out, which may be why there is nothing to do. */
    readonly warnings: FindingList = { count: 0, listed: [] },
  ) {
    super(messagesOf(problems, maxTold).join('\n'));
    this.code = problems.listed[0]?.code ?? 'SOURCE_UNUSABLE';
  }
}
