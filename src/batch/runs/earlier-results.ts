import { z } from 'zod';
import { lookUpErrorCode } from '../../contract/error-codes';
import type {
  BatchItem,
  BatchItemResult,
  BatchItemStatus,
  DoneBefore,
  KeptOutcome,
  Refusal,
  Sighting,
} from '../../shared/batch';
import type { EarlierRuns } from '../../shared/charge';
import { defined } from '../../shared/defined';
import type { FileStore } from '../../storage/file-store';
import { doneSchema, earlierSchema, keptSchema, parametersSchema, parserOf, runFiles } from '../run-files';
import { exists, hasEnded, listRuns, readEndedItems, readItems, recordsOf, type BatchRun } from './run-folders';

/** How many older runs are searched: a batch that runs every hour has thousands. */
const maxOlderRuns = 20;

/**
 * What earlier runs of a batch did, by destination. It reads the results of the latest run and its manifest, which also
 * records what was done or left open before. Results that the latest run was to replace are looked up in older runs.
 * Takes about 500 bytes per row.
 */
export class EarlierResults {
  readonly #rows = new Map<string, EarlierRow>();
  #knowsLeftOut = true;

  private constructor(
    private readonly files: FileStore,
    /** The latest run with a manifest. */
    readonly latest: BatchRun | undefined,
    private readonly older: readonly BatchRun[],
  ) {}

  /** @throws DamagedRunError */
  static async read(files: FileStore, batchFolder: string, signal?: AbortSignal): Promise<EarlierResults> {
    const [latest, ...older] = await listRuns(files, batchFolder);
    const results = new EarlierResults(files, latest, older.slice(0, maxOlderRuns));
    if (latest) await results.#readLatest(latest, signal);
    return results;
  }

  find(destination: string): EarlierRow | undefined {
    return this.#rows.get(destination);
  }

  /** Whether only runs before the latest may know the row with this destination. `exists`: there is a file. */
  mayBeKnownFurther(destination: string, exists: boolean): boolean {
    return this.older.length > 0 && (exists || !this.#knowsLeftOut) && !this.#rows.has(destination);
  }

  /**
   * Searches the runs before the latest for destinations that later runs do not know, or whose result they do not know.
   * @throws DamagedRunError
   */
  async lookFurther(wanted: Set<string>, signal?: AbortSignal): Promise<void> {
    for (const run of this.older) {
      if (wanted.size === 0) return;
      const { rows } = await this.#readRun(run, { wanted, signal });
      for (const row of rows.values()) {
        const { destination, delivered } = row;
        const later = this.#rows.get(destination);
        this.#rows.set(destination, later ? { ...later, ...(delivered && { delivered }) } : withoutStatus(row));
        if (delivered) wanted.delete(destination);
      }
    }
  }

  /** Drops the row: the new run has one with this destination. */
  take(destination: string): void {
    this.#rows.delete(destination);
  }

  /** Rows that the new run does not contain and for which something may have been charged. */
  *leftOut(): Generator<LeftOutRow> {
    for (const row of this.#rows.values()) {
      if (row.owed || row.startedAs.length > 0) yield withoutStatus(row);
    }
  }

  async #readLatest(run: BatchRun, signal?: AbortSignal): Promise<void> {
    const { rows, overwritten } = await this.#readRun(run, { signal });
    for (const row of rows.values()) this.#rows.set(row.destination, row);
    const leftOut = run.folder + runFiles.leftOut;
    // A version that did not record these rows may have planned the run.
    this.#knowsLeftOut = await exists(this.files, leftOut);
    const parse = parserOf<LeftOutRow>(leftOutSchema);
    const rowsLeftOut = this.#knowsLeftOut ? recordsOf(this.files, leftOut, { run, parse, signal }) : [];
    for await (const row of rowsLeftOut) this.#rows.set(row.destination, row);
    const replaced = overwritten.filter((destination) => !this.#rows.get(destination)?.delivered);
    await this.lookFurther(new Set(replaced), signal);
  }

  /** The rows of a run by item, and the destinations of those that were to replace a result. */
  async #readRun(
    run: BatchRun,
    { wanted, signal }: { wanted?: ReadonlySet<string>; signal: AbortSignal | undefined },
  ): Promise<{ rows: Map<number, EarlierRow>; overwritten: string[] }> {
    const isOver = await hasEnded(this.files, run);
    const rows = new Map<number, EarlierRow>();
    const overwritten: string[] = [];
    for await (const item of readItems(this.files, run, signal)) {
      if (wanted && !wanted.has(item.destination)) continue;
      rows.set(item.item, plannedRow(item, { isOver }));
      if (item.onExisting === 'overwrite') overwritten.push(item.destination);
    }
    for await (const result of readEndedItems(this.files, run, signal)) {
      const row = rows.get(result.item);
      if (row) rows.set(result.item, endedRow(row, result));
    }
    return { rows, overwritten };
  }
}

/** How an older run ended says nothing about the latest. */
function withoutStatus(row: EarlierRow): LeftOutRow {
  return defined({ ...row, status: undefined });
}

/** Twice what a planner reads, so that a run is not removed while a planner reads it. */
export const keptRuns = 2 * (maxOlderRuns + 1);

/**
 * Removes the folders of runs that no planner reads any more, with their results and reports: a batch that runs every
 * hour would collect thousands. The kept runs still know what was converted. Do not call it while the batch runs.
 * @returns how many were removed.
 */
export async function removeOldRuns(files: FileStore, batchFolder: string): Promise<number> {
  const old = (await listRuns(files, batchFolder)).slice(keptRuns);
  for (const { folder } of old) await files.remove(folder);
  return old.length;
}

/** What a conversion was asked for; a result made with other options does not count. */
export type ConversionOptions = Pick<BatchItem, 'output' | 'input' | 'parameters'>;

/** The file that a run wrote to a destination. */
export interface Delivered extends DoneBefore {
  options: ConversionOptions;
}

/** A conversion that may have been charged but brought no file. */
export interface Owed extends EarlierRuns {
  options: ConversionOptions;
  /** How the row ended, as far as a later run needs it. */
  outcome?: KeptOutcome;
}

/** What earlier runs know of the row with one destination. */
export interface EarlierRow {
  destination: string;
  /** Of the last run. */
  options: ConversionOptions;
  /** In the latest run; absent if the row has not ended there. */
  status?: BatchItemStatus;
  /** From the last run that wrote to the destination. */
  delivered?: Delivered;
  /** Since `delivered`. */
  owed?: Owed;
  /** Items whose jobs may belong to this row, latest first. */
  startedAs: readonly number[];
  /** Of the last run that planned to send the row. */
  seen?: Sighting;
  /** The service has refused what was `seen`. */
  refused?: Refusal;
}

/** One for all rows, of which there may be a million. */
const none: readonly number[] = [];
/** Bounds the list for a batch that is terminated again and again. */
const maxStartedAs = 20;

/** A row as a run was planned with it. `isOver`: the run has ended, so that a row without a result has no job. */
function plannedRow(item: BatchItem, { isOver }: { isOver: boolean }): EarlierRow {
  const { destination, output, input, parameters, done, earlier, kept, refused, seen } = item;
  const options = defined({ output, input, parameters });
  const owed = kept && owedOf(kept, options);
  const before = item.startedAs ?? none;
  const others = before.filter((number) => number !== item.item);
  return defined({
    destination,
    options,
    delivered: done && { ...done, options },
    owed: owed ?? (earlier && { ...earlier, options }),
    startedAs: done || kept ? none : isOver || refused ? before : [item.item, ...others].slice(0, maxStartedAs),
    seen,
    refused: seen && refused,
  });
}

function endedRow(row: EarlierRow, { item, ...result }: BatchItemResult): EarlierRow {
  const { destination, options } = row;
  const { status, source, output: file, taskId, possiblyChargedTwice, workflowId, warnings } = result;
  if (status === 'succeeded') {
    const told = defined({ taskId, possiblyChargedTwice: possiblyChargedTwice === true || undefined, warnings });
    const delivered = source && file && { source, output: file, ...told, options };
    return defined({ destination, options, status, startedAs: none, delivered });
  }
  const { delivered } = row;
  // Done before, refused, or never started: what the run was planned with still applies.
  if (workflowId === undefined) {
    // A job of an earlier run that was not checked may still be open.
    const mayBeOpen = status === 'failed' && row.startedAs.length > 0;
    return defined({ ...row, status: mayBeOpen ? undefined : status });
  }
  return defined({
    destination,
    options,
    status,
    delivered,
    startedAs: [itemOf(workflowId) ?? item],
    owed: owedOf(result, options),
    ...(row.seen && refusalOf(row.seen, result)),
  });
}

/** Absent unless the file itself is the reason: then another attempt ends in the same way. */
function refusalOf(
  seen: Sighting,
  { status, code = '', message = '', charge, possiblyChargedTwice, source }: Omit<BatchItemResult, 'item'>,
): Pick<EarlierRow, 'seen' | 'refused'> {
  const isOfFile = status === 'failed' && lookUpErrorCode(code)?.class === 'input';
  if (!isOfFile || charge !== 'no' || possiblyChargedTwice === true) return {};
  return { seen: defined({ ...seen, source, times: (seen.times ?? 0) + 1 }), refused: { code, message } };
}

/** Undefined if nothing can have been charged and nothing is marked. Runs of old versions do not say: then `maybe`. */
function owedOf(result: Omit<BatchItemResult, 'item'>, options: ConversionOptions): Owed | undefined {
  const { charge = result.status === 'skipped' ? 'no' : 'maybe', taskId, source } = result;
  const isMarked = result.possiblyChargedTwice === true;
  if (charge === 'no' && !isMarked) return undefined;
  const { code, message, phase, workflowId, runId, warnings } = result;
  const left = defined({ charge, taskId, source, possiblyChargedTwice: isMarked || undefined });
  // Without what the row spent: this run spends nothing on it.
  const outcome = defined({ status: 'failed' as const, code, message, phase, workflowId, runId, warnings });
  return { options, ...left, outcome: { ...outcome, ...left } };
}

/** Jobs are named `<batch>/<item>`. */
function itemOf(workflowId: string): number | undefined {
  const number = Number(/\/(\d+)$/.exec(workflowId)?.[1]);
  return Number.isSafeInteger(number) ? number : undefined;
}

const options = z.object({
  output: z.string(),
  input: z.string().exactOptional(),
  parameters: parametersSchema.exactOptional(),
});

const leftOutSchema = z.object({
  destination: z.string(),
  options,
  delivered: z.object({ ...doneSchema.shape, options }).exactOptional(),
  owed: z.object({ ...earlierSchema.shape, options, outcome: keptSchema.exactOptional() }).exactOptional(),
  startedAs: z.array(z.int().positive()),
}) satisfies z.ZodType<LeftOutRow>;

/** A row of earlier runs that is not in this run although something is open; kept for a later run that has it again. */
export type LeftOutRow = Omit<EarlierRow, 'status'>;
