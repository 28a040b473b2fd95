import type { Refusal, BatchItem } from '../model/types';
import { type PlannedRows, countCode, noTotals, type BatchTotals } from '../model/state';
import { counted } from '../../messages/wording';
import { lastSegment } from '../../job/types';
import type { FileStore } from '../../storage/file-store';
import { shownPath } from '../../storage/file-uri';
import { inChunks, writeFile, type Writing } from '../contents';
import { jsonLine } from '../lines';
import { runFiles } from '../run-files';
import { type BatchRun, runFolder } from '../run-folders';
import { extensionOf } from '../uris';
import { type Finding, type FindingCode, type FindingList, Findings, messagesOf } from '../findings';

export interface FormatCount {
  /** The given input format, or the source's extension in lower case; empty if there is neither. */
  input: string;
  /** Extension of the sources, in lower case. */
  extension: string;
  output: string;
  rows: number;
  bytes: number;
  /** How many rows are already paid for: their results are fetched. Absent: none. */
  paid?: number;
}

export interface RefusedCount extends Omit<FormatCount, 'bytes' | 'paid'> {
  /** Name of the first file. */
  first: string;
  refusal: Refusal;
}

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
  /** Files and folders that can't be read, or whose names can't be used. */
  unread: number;
}

export interface PlannedBatch {
  /** The new run; absent if there are problems or nothing to do, and for a dry run. */
  run?: BatchRun;
  /** Rows of the manifest: the sum of `done`, `kept`, `refused`, `bad` and `todo`. */
  rows: number;
  /** Converted by an earlier run from the same content, even if the result is gone. */
  done: number;
  /** Those of `done` whose results are gone. */
  missing: FindingList;
  /** An earlier run may have been charged but brought no result: policy `fail` converts these only with `resubmit`. */
  kept: number;
  /** Rows that fail without being sent because the service does not convert them, most frequent first. */
  refused: RefusedCount[];
  /** Rows that fail without being sent because they are invalid or conflict with other rows. */
  bad: number;
  /** Rows that are known to fail, by code: `bad`, and `refused` unless these are skipped. */
  failures: Record<string, number>;
  todo: number;
  /** Total size of the sources to do. */
  bytes: number;
  /** Counts the rows for which no job is started. */
  totals: BatchTotals;
  /** vCredits that earlier runs were charged. */
  spent: number;
  /** Format pairs of the rows to do, most frequent first. */
  formats: FormatCount[];
  /** Rows to do that replace the result of an earlier run. */
  replaced: number;
  /** Rows to do whose destination holds something that no run of this batch wrote: the batch's `onExisting` decides. */
  existing: FindingList;
  /** Those of `existing` that are folders, which no policy replaces or skips. */
  folders: number;
  leftOut: LeftOut;
  /** Why no run was written. If no row is good, these include what is wrong with the rows. */
  problems: FindingList;
  /** First what was left out, then the rows whose items will fail. */
  warnings: FindingList;
}

export interface SettledRow {
  item: Omit<BatchItem, 'item'>;
  /** Size of the source. */
  bytes: number;
  /** Something already exists at the destination. */
  exists: boolean | 'folder';
  /** Refused because the row is invalid or conflicts with another, not by the service. */
  isBad?: true;
  /** Failed in the last run too. A schedule starts no new run for such rows alone. */
  isKnown?: boolean;
  /** The end of the run must move its source. */
  isToMove?: boolean;
}

class PlanCounts {
  readonly sums = { rows: 0, done: 0, bad: 0, todo: 0, bytes: 0, replaced: 0, folders: 0 };
  readonly totals = noTotals();
  /** Some row fails for the first time or has a source to move, which needs a run even with nothing to convert. */
  hasNews = false;
  readonly failures: Record<string, number> = {};
  readonly badRows = new Findings();
  readonly existing = new Findings();
  readonly missing = new Findings();
  readonly #refused = new Map<string, RefusedCount>();
  readonly #formats = new Map<string, FormatCount>();

  /** No row can be converted, and none was before. */
  get isNoneGood(): boolean {
    return Object.values(this.failures).reduce((sum, count) => sum + count, 0) === this.sums.rows;
  }

  /** A plan without a good row is refused if a source is missing or unreadable, or without `mayBeAll`. */
  isRefused(mayBeAll: boolean): boolean {
    const isNowhere = ['SOURCE_NOT_FOUND', 'SOURCE_UNREADABLE'].some((code) => this.failures[code] !== undefined);
    return this.sums.rows > 0 && this.isNoneGood && (isNowhere || !mayBeAll);
  }

  add({ item, bytes, exists, isBad, isKnown, isToMove }: SettledRow): void {
    const { sums } = this;
    sums.rows += 1;
    countWithoutJob(item, this.totals);
    const fails = item.kept ?? (item.refused && !item.refused.isSkipped);
    if (isToMove || (fails && !isKnown)) this.hasNews = true;
    if (item.done) {
      sums.done += 1;
      if (item.done.missing) {
        const { uri } = item.done.output;
        this.missing.add('RESULT_MISSING', `${shownPath(uri)} is not there any more, or is another file now.`);
      }
      return;
    }
    if (item.kept) return;
    const extension = extensionOf(item.source);
    const { input = extension, output, refused: refusal } = item;
    const key = `${extension} ${input} ${output}`;
    const kind = { input, extension, output, rows: 0 };
    if (refusal && !refusal.isSkipped) countCode(this.failures, refusal.code);
    if (refusal && isBad) {
      sums.bad += 1;
      this.badRows.add(refusal.code as FindingCode, refusal.message);
      return;
    }
    if (refusal) {
      const refused = this.#refused.get(key) ?? { ...kind, first: lastSegment(item.source), refusal };
      refused.rows += 1;
      this.#refused.set(key, refused);
      return;
    }
    sums.todo += 1;
    sums.bytes += bytes;
    if (item.replaces) sums.replaced += 1;
    else if (exists) this.existing.add('DESTINATION_EXISTS', `${shownPath(item.destination)} already exists.`);
    if (exists === 'folder') sums.folders += 1;
    const format = this.#formats.get(key) ?? { ...kind, bytes: 0 };
    format.rows += 1;
    format.bytes += bytes;
    if (item.earlier?.taskId !== undefined) format.paid = (format.paid ?? 0) + 1;
    this.#formats.set(key, format);
  }

  summary() {
    const [refused, formats] = [mostFrequentFirst(this.#refused), mostFrequentFirst(this.#formats)];
    const { failures, badRows, existing, missing, totals } = this;
    return { ...this.sums, kept: totals.kept, totals, refused, formats, failures, badRows, existing, missing };
  }
}

/** Counts a row for which no job is started. */
export function countWithoutJob({ done, kept, refused }: SettledRow['item'], totals: BatchTotals): void {
  const failure = kept ?? (refused?.isSkipped ? undefined : refused);
  if (failure) {
    totals.failed += 1;
    countCode(totals.failures, failure.code);
  } else if (done ?? refused) totals.skipped += 1;
  if (kept?.status === 'suspect') {
    totals.suspect = (totals.suspect ?? 0) + 1;
    totals.refused = (totals.refused ?? 0) + 1;
  } else if (kept) totals.kept += 1;
  else if (refused?.isSkipped) totals.unconvertible = (totals.unconvertible ?? 0) + 1;
  else if (refused) totals.refused = (totals.refused ?? 0) + 1;
  if (done?.missing) totals.missing = (totals.missing ?? 0) + 1;
  if ((done ?? kept)?.possiblyChargedTwice) totals.possiblyChargedTwice += 1;
}

function mostFrequentFirst<Count extends { rows: number }>(counts: ReadonlyMap<string, Count>): Count[] {
  return [...counts.values()].sort((one, other) => other.rows - one.rows);
}

const maxWarnings = 100;

/** The plan in the form that the batch reports. */
export function summaryOf(planned: PlannedBatch): PlannedRows {
  const { rows, todo, done, missing, kept, failures, leftOut, warnings } = planned;
  const { repeated, unsettled, ownResults, unread } = leftOut;
  const messages = [
    ...messagesOf(warnings),
    ...(repeated > 0 ? [`${counted(repeated, 'file')} named more than once, and taken once.`] : []),
    ...(unsettled > 0 ? [`${counted(unsettled, 'file')} left out because they may still be changing.`] : []),
    ...(ownResults > 0 ? [`${counted(ownResults, 'result')} of earlier runs left out.`] : []),
    ...missingMessages(missing),
  ];
  return {
    ...{ rows, todo, done, kept, failures, unsettled, missing: missing.count },
    ...{ refused: rows - todo - done - kept, leftOut: unread },
    warnings: messages.slice(0, maxWarnings),
  };
}

/** A result that somebody moved away is no reason to convert again. */
function missingMessages({ count, listed: [first] }: FindingList): string[] {
  if (!first) return [];
  const others = count > 1 ? ` ${counted(count - 1, 'other')} too.` : '';
  return [`${first.message}${others} What was converted before is not converted again, unless you say --again.`];
}

interface Concluding {
  problems: FindingList;
  warnings: FindingList;
  unread: FindingList;
  leftOut: Omit<LeftOut, 'unread'>;
}

/** The plan, with bad rows listed as warnings or, if no row is good, as problems. */
export function conclude(
  { badRows, isRefused, ...written }: Awaited<ReturnType<typeof writeRun>>,
  { problems, warnings, unread, leftOut }: Concluding,
): Omit<PlannedBatch, 'spent'> {
  const { refused } = written;
  const rowProblems = (consequence: string): FindingList[] => [
    { count: badRows.count, listed: badRows.listed.map((each) => ({ ...each, message: each.message + consequence })) },
    {
      count: refused.length,
      listed: refused.map((each): Finding => ({
        code: 'FORMAT_UNUSABLE',
        message: refusedMessage(each, consequence !== ''),
      })),
    },
  ];
  return {
    ...written,
    leftOut: { ...leftOut, unread: unread.count },
    problems: isRefused ? allOf(problems, ...rowProblems('')) : problems,
    warnings: allOf(unread, warnings, ...(isRefused ? [] : rowProblems(' Its item will fail.'))),
  };
}

export function allOf(...lists: FindingList[]): FindingList {
  return {
    count: lists.reduce((sum, { count }) => sum + count, 0),
    listed: lists.flatMap(({ listed }) => listed),
  };
}

function refusedMessage({ rows, input, first, refusal }: RefusedCount, hasConsequence: boolean): string {
  const failing = ', and will fail without being uploaded (--unconvertible skip leaves them out)';
  const consequence = !hasConsequence ? '' : refusal.isSkipped ? ', and will be skipped' : failing;
  const which = input ? `of format ${input}` : `(${first}${rows > 1 ? ', …' : ''})`;
  const { message } = refusal;
  return `${counted(rows, 'file')} ${which} can't be converted${consequence}: ${message.charAt(0).toLowerCase()}${message.slice(1)}`;
}

interface RunWriting {
  files: FileStore;
  batchFolder: string;
  /** Number of the previous run, from 1; 0: there is none. */
  lastRun: () => number;
  /** Asked before the manifest is written, and again before it gets its name. */
  canRun: () => boolean;
  /** Whether the rows to do would be tried. */
  canTry: () => boolean;
  mayBeDone?: boolean | undefined;
  /** Whether all files may be bad, if they exist. Default: no. */
  mayBeAll?: boolean | undefined;
  writing: Writing;
}

/** For plans that are never retried. */
export const firstAttempt: Writing = { jobKey: 'plan', attempt: 1 };

/** Maximum chunks in memory, of 64 Ki characters each. */
const maxHeld = 1_024;

/** Counts the rows of a plan and, if there is anything to convert or report, writes them as a new run of the batch. */
export async function writeRun(
  rows: AsyncIterable<SettledRow>,
  { files, batchFolder, lastRun, canRun, canTry, mayBeDone, mayBeAll = false, writing }: RunWriting,
): Promise<ReturnType<PlanCounts['summary']> & { isRefused: boolean; run?: BatchRun }> {
  const counts = new PlanCounts();
  const lines = inChunks(manifestLines(rows, counts));
  const isToDo = () =>
    (counts.sums.todo > 0 && canTry()) || ((mayBeDone === true || counts.hasNews) && !counts.isRefused(mayBeAll));
  const summary = () => ({ ...counts.summary(), isRefused: counts.isRefused(mayBeAll) });
  try {
    const held: string[] = [];
    let next = await lines.next();
    // Holds rows back, because most batches with nothing to do are recognised before anything is written.
    while (!next.done && !isToDo() && held.length < maxHeld) {
      held.push(next.value);
      next = await lines.next();
    }
    // Every problem is known before the first row arrives.
    if (counts.sums.rows === 0 || !canRun() || (next.done === true && !isToDo())) {
      while (!next.done) next = await lines.next();
      return summary();
    }
    const number = lastRun() + 1;
    const run = { number, folder: runFolder(batchFolder, number) };
    // A lost attempt may have died after its manifest got its name, before the temporary name was removed.
    if (writing.attempt > 1 && number > 1) {
      await files.discardPartial({ uri: runFolder(batchFolder, number - 1), jobKey: writing.jobKey });
    }
    const nothingToDo = new Error('There is nothing to do.');
    const manifest = async function* () {
      yield* held;
      if (next.value !== undefined) yield next.value;
      yield* lines;
      // The file gets its name only if this generator does not throw.
      if (!isToDo() || !canRun()) throw nothingToDo;
    };
    try {
      // Fails if a lost attempt has written this manifest; the retry then makes another run.
      await writeFile(files, run.folder + runFiles.manifest, manifest(), { writing, onExisting: 'fail' });
      return { run, ...summary() };
    } catch (error) {
      if (error === nothingToDo) return summary();
      throw error;
    }
  } finally {
    await lines.return(undefined);
  }
}

async function* manifestLines(rows: AsyncIterable<SettledRow>, counts: PlanCounts): AsyncGenerator<string> {
  for await (const row of rows) {
    counts.add(row);
    yield jsonLine({ item: counts.sums.rows, ...row.item } satisfies BatchItem);
  }
}
