import { randomUUID } from 'node:crypto';
import type { Refusal, BatchItem, PlannedRows } from '../../shared/batch';
import type { Unconvertible } from '../../shared/policies';
import { counted } from '../../shared/wording';
import { lastSegment } from '../../shared/job';
import type { FileStore } from '../../storage/file-store';
import { shownPath } from '../../storage/file-uri';
import { inChunks, writeFile } from '../contents';
import { jsonLine } from '../lines';
import { runFiles } from '../run-files';
import { type BatchRun, runFolder } from '../run-folders';
import { type Finding, type FindingList, Findings, messagesOf } from './findings';
import { extensionOf } from './settle-row';

export interface FormatCount {
  /** The given input format, or the source's extension in lower case; empty if there is neither. */
  input: string;
  /** Of the sources, in lower case. */
  extension: string;
  output: string;
  rows: number;
  bytes: number;
}

export interface RefusedCount extends Omit<FormatCount, 'bytes'> {
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
}

export interface PlannedBatch {
  /** The new run; absent if there are problems or nothing to do, and for a dry run. */
  run?: BatchRun;
  /** Rows of the manifest: the sum of `done`, `kept`, `refused` and `todo`. */
  rows: number;
  /** Converted by an earlier run from the same content, whatever became of the result. */
  done: number;
  /** Of those, the ones whose results are not there any more. */
  missing: FindingList;
  /** An earlier run may have been charged but brought no result: policy `fail` converts these only with `resubmit`. */
  kept: number;
  /** Rows that fail without being sent because the service does not convert them, most frequent first. */
  refused: RefusedCount[];
  todo: number;
  /** Total size of the sources to do. */
  bytes: number;
  /** Of the rows to do, most frequent first. */
  formats: FormatCount[];
  /** Rows to do that replace the result of an earlier run. */
  replaced: number;
  /** Rows to do whose destination holds something that no run of this batch wrote: the batch's `onExisting` decides. */
  existing: FindingList;
  leftOut: LeftOut;
  /** For a second look: without any, the plan is whole. */
  toNote: readonly string[];
  /** What prevents the batch from running; no run was written. */
  problems: FindingList;
  /** Files left out, and rows whose items will fail. */
  warnings: FindingList;
}

export interface SettledRow {
  item: Omit<BatchItem, 'item'>;
  /** Size of the source. */
  bytes: number;
  /** Something already exists at the destination. */
  exists: boolean;
}

class PlanCounts {
  readonly told = { rows: 0, done: 0, kept: 0, todo: 0, bytes: 0, replaced: 0 };
  readonly existing = new Findings();
  readonly missing = new Findings();
  readonly #refused = new Map<string, RefusedCount>();
  readonly #formats = new Map<string, FormatCount>();

  add({ item, bytes, exists }: SettledRow): void {
    const { told } = this;
    told.rows += 1;
    if (item.done) {
      told.done += 1;
      if (item.done.missing) {
        const { uri } = item.done.output;
        this.missing.add('RESULT_MISSING', `${shownPath(uri)} is not there any more, or is another file now.`);
      }
      return;
    }
    if (item.kept) {
      told.kept += 1;
      return;
    }
    const extension = extensionOf(item.source);
    const { input = extension, output, refused: refusal } = item;
    const key = `${extension} ${input} ${output}`;
    const kind = { input, extension, output, rows: 0 };
    if (refusal) {
      const refused = this.#refused.get(key) ?? { ...kind, first: lastSegment(item.source), refusal };
      refused.rows += 1;
      this.#refused.set(key, refused);
      return;
    }
    told.todo += 1;
    told.bytes += bytes;
    if (item.replacesOwn) told.replaced += 1;
    else if (exists) this.existing.add('DESTINATION_EXISTS', `${shownPath(item.destination)} exists already.`);
    const format = this.#formats.get(key) ?? { ...kind, bytes: 0 };
    format.rows += 1;
    format.bytes += bytes;
    this.#formats.set(key, format);
  }

  summary() {
    const [refused, formats] = [mostFrequentFirst(this.#refused), mostFrequentFirst(this.#formats)];
    return { ...this.told, refused, formats, existing: this.existing, missing: this.missing };
  }
}

function mostFrequentFirst<Count extends { rows: number }>(counts: ReadonlyMap<string, Count>): Count[] {
  return [...counts.values()].sort((one, other) => other.rows - one.rows);
}

const maxWarnings = 100;

/** What a plan has found, as its batch tells it. */
export function summaryOf(planned: PlannedBatch): PlannedRows {
  const { rows, todo, done, missing, kept, refused, leftOut, warnings } = planned;
  const { repeated, unsettled, ownResults } = leftOut;
  const told = [
    ...messagesOf(warnings),
    ...(repeated > 0 ? [`${counted(repeated, 'file')} named more than once, and taken once.`] : []),
    ...(unsettled > 0 ? [`${counted(unsettled, 'file')} left out that may still be being written.`] : []),
    ...(ownResults > 0 ? [`${counted(ownResults, 'result')} of earlier runs left out.`] : []),
    ...tellMissing(missing),
  ];
  return {
    ...{ rows, todo, done, kept, unsettled, missing: missing.count },
    refused: refused.reduce((sum, { rows: some }) => sum + some, 0),
    warnings: told.slice(0, maxWarnings),
  };
}

/** Results that somebody has moved away are nothing to be converted again. */
function tellMissing({ count, listed: [first] }: FindingList): string[] {
  if (!first) return [];
  const others = count > 1 ? ` ${counted(count - 1, 'other')} too.` : '';
  return [`${first.message}${others} What was converted before is not converted again, unless you say --again.`];
}

/** The plan with what can't be converted among its warnings or, when there is nothing else at all, among its problems. */
export function withUnconvertible(
  plan: PlannedBatch,
  {
    unconvertible = 'fail',
    mayBeAll = false,
  }: { unconvertible?: Unconvertible | undefined; mayBeAll?: boolean | undefined } = {},
): PlannedBatch {
  const { refused, todo, done, kept } = plan;
  if (refused.length === 0) return plan;
  const isNothingLeft = todo + done + kept === 0 && unconvertible === 'fail' && !mayBeAll;
  const fate =
    unconvertible === 'skip'
      ? ', and will be skipped'
      : ', and will fail without being uploaded (--unconvertible skip leaves them out)';
  const found = refused.map((each): Finding => ({
    code: 'FORMAT_UNUSABLE',
    message: tellRefused(each, isNothingLeft ? '' : fate),
  }));
  const kind = isNothingLeft ? 'problems' : 'warnings';
  const { count, listed } = plan[kind];
  return { ...plan, [kind]: { count: count + found.length, listed: [...listed, ...found] } };
}

function tellRefused({ rows, input, first, refusal }: RefusedCount, fate: string): string {
  const which = input ? `of format ${input}` : `(${first}${rows > 1 ? ', …' : ''})`;
  const { message } = refusal;
  return `${counted(rows, 'file')} ${which} can't be converted${fate}: ${message.charAt(0).toLowerCase()}${message.slice(1)}`;
}

interface RunWriting {
  files: FileStore;
  batchFolder: string;
  /** Of the run before, from 1; 0: there was none. */
  lastRun: () => number;
  /** Called before the first row and after the last. */
  canRun: () => boolean;
  mayBeDone?: boolean | undefined;
  signal: AbortSignal | undefined;
}

/** Texts of 64 Ki characters each. */
const mostHeld = 256;

/** Counts the rows of a plan, and writes them as a new run of the batch if there is anything to do. */
export async function writeRun(
  rows: AsyncIterable<SettledRow>,
  { files, batchFolder, lastRun, canRun, mayBeDone, signal }: RunWriting,
): Promise<ReturnType<PlanCounts['summary']> & { run?: BatchRun }> {
  const counts = new PlanCounts();
  const lines = inChunks(manifestLines(rows, counts));
  const isToDo = () => counts.told.todo > 0 || mayBeDone === true;
  try {
    const held: string[] = [];
    let next = await lines.next();
    // Most batches that have nothing to do are known before anything is written.
    while (!next.done && !isToDo() && held.length < mostHeld) {
      held.push(next.value);
      next = await lines.next();
    }
    // Every problem is known before the first row arrives.
    if (counts.told.rows === 0 || !canRun() || (next.done === true && !isToDo())) {
      while (!next.done) next = await lines.next();
      return counts.summary();
    }
    const number = lastRun() + 1;
    const run = { number, folder: runFolder(batchFolder, number) };
    const writing = { jobKey: `plan ${randomUUID()}`, attempt: 1, signal };
    const nothingToDo = new Error('There is nothing to do.');
    const manifest = async function* () {
      yield* held;
      if (next.value !== undefined) yield next.value;
      yield* lines;
      // The file gets its name only if this ends well.
      if (!isToDo() || !canRun()) throw nothingToDo;
    };
    try {
      // Another attempt at this plan may have written it: then the next one makes another run.
      await writeFile(files, run.folder + runFiles.manifest, manifest(), { writing, onExisting: 'fail' });
      return { run, ...counts.summary() };
    } catch (error) {
      if (error === nothingToDo) return counts.summary();
      throw error;
    }
  } finally {
    await lines.return(undefined);
  }
}

async function* manifestLines(rows: AsyncIterable<SettledRow>, counts: PlanCounts): AsyncGenerator<string> {
  for await (const row of rows) {
    counts.add(row);
    yield jsonLine({ item: counts.told.rows, ...row.item } satisfies BatchItem);
  }
}
