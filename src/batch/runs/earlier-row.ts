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
import type { ConversionParameters } from '../../shared/parameters';

/** What a conversion was asked for; a result made with other options does not count. */
export interface ConversionOptions {
  output: string;
  input?: string | undefined;
  parameters?: ConversionParameters | undefined;
}

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

const none: readonly number[] = [];
/** Bounds the list for a batch that is terminated again and again. */
const maxStartedAs = 20;

/** A row as a run was planned with it. `isOver`: the run has ended, so that a row without a result has no job. */
export function plannedRow(item: BatchItem, { isOver }: { isOver: boolean }): EarlierRow {
  const { output, input, parameters, done, earlier, kept, refused, seen } = item;
  const options = defined({ output, input, parameters });
  const owed = kept && owedOf(kept, options);
  const before = item.startedAs ?? none;
  const others = before.filter((number) => number !== item.item);
  return defined({
    options,
    delivered: done && { ...done, options },
    owed: owed ?? (earlier && { ...earlier, options }),
    startedAs: done || kept ? none : isOver || refused ? before : [item.item, ...others].slice(0, maxStartedAs),
    seen,
    refused: seen && refused,
  });
}

export function endedRow(row: EarlierRow, { item, ...result }: BatchItemResult): EarlierRow {
  const { options } = row;
  const { status, source, output: file, taskId, possiblyChargedTwice, workflowId, warnings } = result;
  if (status === 'succeeded') {
    const told = defined({ taskId, possiblyChargedTwice: possiblyChargedTwice === true || undefined, warnings });
    const delivered = source && file && { source, output: file, ...told, options };
    return defined({ options, status, startedAs: none, delivered });
  }
  const { delivered } = row;
  // Done before, refused, or never started: what the run was planned with still applies.
  if (workflowId === undefined) {
    // A job of an earlier run that was not checked may still be open.
    const mayBeOpen = status === 'failed' && row.startedAs.length > 0;
    return defined({ ...row, status: mayBeOpen ? undefined : status });
  }
  return defined({
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
  return { seen: defined({ ...seen, source }), refused: { code, message } };
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
