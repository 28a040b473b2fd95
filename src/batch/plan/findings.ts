/** What can be found while a batch is planned. The codes are part of `--json`: they never change. */
export const findingCodes = [
  /** The manifest can't be read as CSV or JSONL, or its columns are not those of a manifest. */
  'MANIFEST_INVALID',
  /** The manifest is not UTF-8, and is read as what it most likely is. */
  'ENCODING_GUESSED',
  /** A value in a row of the manifest, or of a list of files, is none. */
  'ROW_INVALID',
  'SOURCE_NOT_FOUND',
  /** A folder, a device, an empty file. */
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
] as const;
type FindingCode = (typeof findingCodes)[number];

export interface Finding {
  code: FindingCode;
  /** What is wrong, where, and what to do about it. */
  message: string;
}

/** The first findings, and how many there are in all. */
export interface FindingList {
  count: number;
  listed: readonly Finding[];
}

/** A row of the plan, as a message about another one names it. */
export interface NamedRow {
  row: number;
  /** What the row is called: its source, or its line in the manifest. */
  place: string;
  source: string;
  destination: string;
}

interface PendingFinding {
  code: FindingCode;
  otherRow: number;
  describe: (other: NamedRow) => string;
}

/** Every finding is counted; only the first ones are kept. */
export class Findings {
  #count = 0;
  readonly #kept: (Finding | PendingFinding)[] = [];

  constructor(private readonly maxListed = 100) {}

  get count(): number {
    return this.#count;
  }

  add(code: FindingCode, message: string): void {
    this.#keep({ code, message });
  }

  /** Of two rows, the first of which is known by its number alone until `name` is called. */
  addAbout(code: FindingCode, otherRow: number, describe: (other: NamedRow) => string): void {
    this.#keep({ code, otherRow, describe });
  }

  /** @param rows all rows, of which those that messages name are looked up in one go. */
  async list(rows: () => AsyncIterable<NamedRow>): Promise<FindingList> {
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
    if (this.#kept.length < this.maxListed) this.#kept.push(finding);
  }
}

const maxTold = 5;

/** A plan has problems, so there is no run. The code is that of the first; the message tells the first few of them. */
export class RefusedPlanError extends Error {
  override readonly name = 'RefusedPlanError';
  readonly code: FindingCode;

  constructor({ count, listed }: FindingList) {
    const told = listed.slice(0, maxTold).map(({ message }) => message);
    super([...told, ...(count > told.length ? [`and ${count - told.length} more.`] : [])].join('\n'));
    this.code = listed[0]?.code ?? 'SOURCE_UNUSABLE';
  }
}
