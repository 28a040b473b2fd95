/** What planning a batch can find. The codes are part of `--json`: they never change. */
export const findingCodes = [
  /** The manifest cannot be read as CSV or JSONL, or its columns are wrong. */
  'MANIFEST_INVALID',
  /** The manifest is not UTF-8 and is read in its most likely encoding. */
  'ENCODING_GUESSED',
  /** An invalid value in a row of the manifest or of a file list. */
  'ROW_INVALID',
  'SOURCE_NOT_FOUND',
  'SOURCE_EMPTY',
  'SOURCE_IS_DIRECTORY',
  /** Access is denied, or the source is no regular file, such as a device. */
  'SOURCE_UNREADABLE',
  /** A file that was found or listed is left out. */
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
  /** A result was delivered before but is gone. */
  'RESULT_MISSING',
] as const;
export type FindingCode = (typeof findingCodes)[number];

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

const maxListed = 100;

/** Counts every finding, but keeps only the first ones. */
export class Findings implements FindingList {
  count = 0;
  readonly listed: Finding[] = [];

  add(code: FindingCode, message: string): void {
    this.count += 1;
    if (this.listed.length < maxListed) this.listed.push({ code, message });
  }
}

/** A line for each of the first few, and one for the rest. */
export function messagesOf({ count, listed }: FindingList, atMost = listed.length): string[] {
  const messages = listed.slice(0, atMost).map(({ message }) => message);
  return count > messages.length ? [...messages, `and ${count - messages.length} more.`] : messages;
}

const maxMessages = 5;

/** A plan has problems, so there is no run. `code` is that of the first; the message lists the first few. */
export class RefusedPlanError extends Error {
  override readonly name = 'RefusedPlanError';
  readonly code: FindingCode;

  constructor(
    readonly problems: FindingList,
    /** What was left out, which may be why there is nothing to do. */
    readonly warnings: FindingList = { count: 0, listed: [] },
  ) {
    super(messagesOf(problems, maxMessages).join('\n'));
    this.code = problems.listed[0]?.code ?? 'SOURCE_UNUSABLE';
  }
}
