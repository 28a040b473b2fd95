import { z } from 'zod';
import { lookUpErrorCode } from '../contract/error-codes';
import type { BatchItem, ConversionOptions, Delivered, Refusal, Fingerprint, Unresolved } from './model/types';
import type { BatchItemResult } from './model/state';
import { placeOf, type BatchItemStatus } from '../job/types';
import { defined } from '../job/defined';
import { markOf } from '../job/job-outcome';
import { Spending } from './model/spending';
import type { FileStore } from '../storage/file-store';
import { writeFile, type Writing } from './contents';
import { jsonLine } from './lines';
import {
  deliveredSchema,
  optionsSchema,
  parserOf,
  refusedSchema,
  seenSchema,
  statusSchema,
  unresolvedSchema,
} from './run-files';
import { exists, listRuns, readRows, recordsOf, runOf, type BatchRun } from './run-folders';
import { extensionOf, folderOf } from './uris';

/** What a batch knows about one destination. */
export interface LedgerRow {
  destination: string;
  /** From the last run that had the row, like `options`. */
  source: string;
  options: ConversionOptions;
  run: number;
  /** In that run; absent if the row had not ended when the run did. */
  status?: BatchItemStatus;
  /** Result of the last job that delivered. */
  delivered?: Delivered;
  /** Left open by jobs after `delivered`. */
  unresolved?: Unresolved;
  /** The source as it was when the row was last sent. */
  seen?: Fingerprint;
  /** The service refused what was `seen`; or the row is unclear, and has a line of its own until the next run. */
  refused?: Refusal;
}

/** In the folder of the batch. */
export const ledgerFile = 'ledger.jsonl';

/** The ledger's first line. */
interface LedgerHead {
  /** Number of the last run in it; 0: none. */
  run: number;
  /** Upper bound of what all runs were charged: see `Spending`. */
  vcredits: number;
}

const noRun: LedgerHead = { run: 0, vcredits: 0 };

/**
 * What all runs of a batch did: one line per destination, after a head line with the last run and the total charge. The end of a run
 * rewrites it atomically, and no destination is ever dropped. Runs that did not end are added when the next one is planned. Takes
 * about 500 bytes of memory a row.
 */
export class Ledger {
  private constructor(
    private readonly rowsOf: Map<string, LedgerRow>,
    private readonly head: LedgerHead,
  ) {}

  /**
   * Reads the ledger and adds the runs that did not end. With `writing`, saves those too.
   * @throws RunFileError
   */
  static async open(
    files: FileStore,
    batchFolder: string,
    { writing, signal }: { writing?: Writing | undefined; signal?: AbortSignal | undefined } = {},
  ): Promise<Ledger> {
    const rows = new Map<string, LedgerRow>();
    let { run, vcredits } = noRun;
    for await (const line of readLedger(files, batchFolder, signal)) {
      if ('destination' in line) rows.set(keyOf(line, rows.size), line);
      else ({ run, vcredits } = line);
    }
    const unended = (await listRuns(files, batchFolder)).filter(({ number }) => number > run).reverse();
    for (const each of unended) {
      const spending = Spending.from();
      for await (const { row, item, result } of rowsOfRun(files, each, signal)) {
        rows.set(keyOf(row, rows.size), row);
        if (result) spending.add(result, item);
      }
      vcredits += spending.upperBound;
      run = each.number;
    }
    const ledger = new Ledger(rows, { run, vcredits });
    if (unended.length > 0 && writing) await ledger.save(files, batchFolder, { ...writing, signal });
    return ledger;
  }

  /** Number of the last run; 0: none. */
  get run(): number {
    return this.head.run;
  }

  /** Upper bound of what its runs were charged: see `Spending`. */
  get vcredits(): number {
    return this.head.vcredits;
  }

  find(destination: string): LedgerRow | undefined {
    return this.rowsOf.get(placeOf(destination));
  }

  /** In the order of that run. */
  *rowsOfLastRun(): Generator<LedgerRow> {
    for (const row of this.rowsOf.values()) if (row.run === this.run) yield row;
  }

  async save(files: FileStore, batchFolder: string, writing: Writing): Promise<void> {
    const lines = function* (head: LedgerHead, rows: Iterable<LedgerRow>) {
      yield jsonLine(head);
      for (const row of rows) yield jsonLine(row);
    };
    await writeFile(files, batchFolder + ledgerFile, lines(this.head, this.rowsOf.values()), { writing });
  }
}

/** Adds the rows and charges of a run to the ledger of its batch. Safe to repeat. Memory holds the destinations of the run. */
export async function addToLedger(
  files: FileStore,
  { folder: runFolder, vcredits }: { folder: string; vcredits: number },
  writing: Writing,
): Promise<void> {
  const batchFolder = folderOf(runFolder);
  const run = runOf(runFolder);
  const { signal } = writing;
  const before = await headOf(files, batchFolder, signal);
  // The workflow of an older run was reset. Newer runs were planned with that run's rows and know them better.
  if (before.run > run.number) return;
  // An earlier attempt has already added the run and its charges.
  const isIn = before.run === run.number;
  const lines = async function* () {
    yield jsonLine({ run: run.number, vcredits: before.vcredits + (isIn ? 0 : vcredits) });
    const own = new Set<string>();
    for await (const { row } of rowsOfRun(files, run, signal)) {
      if (!isUnclear(row)) own.add(placeOf(row.destination));
      yield jsonLine(row);
    }
    for await (const line of readLedger(files, batchFolder, signal)) {
      if ('destination' in line && !isUnclear(line) && !own.has(placeOf(line.destination))) yield jsonLine(line);
    }
  };
  await writeFile(files, batchFolder + ledgerFile, lines(), { writing });
}

function isUnclear({ refused }: LedgerRow): boolean {
  return refused?.isUnclear === true;
}

/** Unclear rows have keys of their own, so that they don't replace what is known about the destination. */
function keyOf(row: LedgerRow, count: number): string {
  return isUnclear(row) ? `unclear ${count}` : placeOf(row.destination);
}

async function headOf(files: FileStore, batchFolder: string, signal: AbortSignal | undefined): Promise<LedgerHead> {
  for await (const line of readLedger(files, batchFolder, signal)) if (!('destination' in line)) return line;
  return noRun;
}

async function* readLedger(
  files: FileStore,
  batchFolder: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<LedgerRow | LedgerHead> {
  const uri = batchFolder + ledgerFile;
  if (!(await exists(files, uri))) return;
  const fix = 'Restore it; or remove it, and what the runs beside it tell is all that is known';
  yield* recordsOf(files, uri, { parse: parserOf(lineSchema), signal, fix });
}

/** The rows of a run, as they ended, or as planned if they have not. */
async function* rowsOfRun(
  files: FileStore,
  run: BatchRun,
  signal: AbortSignal | undefined,
): AsyncGenerator<{ row: LedgerRow; item: BatchItem; result?: BatchItemResult }> {
  for await (const { item, result } of readRows(files, run, signal)) {
    const planned = plannedRow(item, run.number);
    yield { item, ...(result ? { result, row: endedRow(planned, item, result) } : { row: planned }) };
  }
}

function plannedRow(item: BatchItem, run: number): LedgerRow {
  const {
    destination,
    source,
    output,
    input,
    parameters,
    done,
    before,
    earlier,
    kept,
    refused,
    seen,
    unresolved: left,
  } = item;
  const extension = input === undefined ? extensionOf(source) : undefined;
  const options = defined({ output, input, extension, parameters });
  const unresolved = kept && unresolvedOf(kept, options);
  return defined({
    destination,
    source,
    options,
    run,
    // A row that is done gets no job, and so no later status.
    status: done && ('skipped' as const),
    delivered: done && !done.existed ? { ...defined({ ...done, missing: undefined }), options } : before,
    unresolved: unresolved ?? left ?? (earlier && { ...earlier, options }),
    seen,
    refused: seen || refused?.isUnclear ? refused : undefined,
  });
}

function endedRow(row: LedgerRow, { earlier, unresolved: other }: BatchItem, result: BatchItemResult): LedgerRow {
  const { destination, source: uri, options, run, delivered: before } = row;
  const { status, source, output, taskId, charge, possiblyChargedExtra, workflowId, warnings } = result;
  const known = { destination, source: uri, options, run, status };
  if (source && output && (status === 'succeeded' || (status === 'skipped' && workflowId !== undefined))) {
    const delivered = { ...defined({ source, output, taskId, warnings }), ...markOf(possiblyChargedExtra), options };
    // A job that submitted nothing, or that another caller had started, tells nothing of another conversion.
    const isTold = status === 'succeeded' && (possiblyChargedExtra ?? 0) > (other?.possiblyChargedExtra ?? 0);
    return { ...known, delivered, ...(other && !isTold && { unresolved: other }) };
  }
  // Without a job (done before, refused, or never started) the planned state still applies.
  if (workflowId === undefined) return { ...row, status };
  // A job that was charged for nothing leaves things as they were.
  const isFree = charge === (earlier?.charge ?? 'no') && possiblyChargedExtra === earlier?.possiblyChargedExtra;
  const isUntouched = taskId === undefined && isFree && (status === 'skipped' || other !== undefined);
  const unresolved = isUntouched ? row.unresolved : unresolvedOf(result, options);
  if (unresolved?.taskId !== undefined) {
    const chargedBefore = unresolved.taskId === row.unresolved?.taskId ? row.unresolved.vcredits : undefined;
    Object.assign(unresolved, defined({ vcredits: result.vcredits ?? chargedBefore }));
  }
  return defined({
    ...known,
    delivered: before,
    unresolved,
    ...(row.seen && refusalOf(row.seen, result)),
  });
}

/** A service short of resources may refuse a file that it would convert another day, so one refusal is not final. */
export const refusalsBelieved = 3;

/** Empty unless the file itself is the reason, so that another attempt would end in the same way. */
function refusalOf(
  seen: Fingerprint,
  { status, code = '', message = '', charge, possiblyChargedExtra, source }: Omit<BatchItemResult, 'item'>,
): Pick<LedgerRow, 'seen' | 'refused'> {
  // The worker itself found this, so the first refusal is final.
  const isProtected = code === 'SOURCE_PROTECTED';
  const isOfFile = status === 'failed' && (isProtected || lookUpErrorCode(code)?.class === 'input');
  if (!isOfFile || charge !== 'no' || possiblyChargedExtra !== undefined) return {};
  return {
    seen: defined({ ...seen, source, times: isProtected ? refusalsBelieved : (seen.times ?? 0) + 1 }),
    refused: { code, message },
  };
}

/** Undefined if nothing can have been charged and nothing is marked. */
function unresolvedOf(result: Omit<BatchItemResult, 'item'>, options: ConversionOptions): Unresolved | undefined {
  const { charge = result.status === 'skipped' ? 'no' : 'maybe', taskId, source, possiblyChargedExtra } = result;
  if (charge === 'no' && possiblyChargedExtra === undefined) return undefined;
  const { code, message, phase, workflowId, runId, warnings, output } = result;
  const isSuspect = result.status === 'suspect';
  const left = defined({ charge, taskId, source, possiblyChargedExtra, suspect: isSuspect || undefined });
  // Leaves out what the row spent, because the next run spends nothing on it.
  const status = isSuspect ? ('suspect' as const) : ('failed' as const);
  const outcome = { status, ...defined({ code, message, phase, workflowId, runId, warnings, output }) };
  const marks = markOf(possiblyChargedExtra);
  return { options, ...left, outcome: { ...outcome, ...defined({ charge, taskId, source }), ...marks } };
}

const lineSchema = z.union([
  z.object({
    destination: z.string(),
    source: z.string(),
    options: optionsSchema,
    run: z.int().positive(),
    status: statusSchema.exactOptional(),
    delivered: deliveredSchema.exactOptional(),
    unresolved: unresolvedSchema.exactOptional(),
    seen: seenSchema.exactOptional(),
    refused: refusedSchema.exactOptional(),
  }) satisfies z.ZodType<LedgerRow>,
  z.strictObject({ run: z.int().nonnegative(), vcredits: z.number().nonnegative() }) satisfies z.ZodType<LedgerHead>,
]);
