import type { BatchItem, BatchItemResult, BatchItemStatus, DoneBefore, KeptOutcome } from '../../shared/batch';
import type { EarlierRuns } from '../../shared/charge';

/** What a conversion was asked for; results of other options are not the same. */
export interface ConversionOptions {
  output: string;
  input?: string | undefined;
}

/** The file that a run put at a destination. */
export interface Delivered extends DoneBefore {
  options: ConversionOptions;
}

/** A conversion that may have been charged and brought no file. */
export interface Owed extends EarlierRuns {
  options: ConversionOptions;
  /** How its row ended, as far as a later run needs it. */
  outcome?: KeptOutcome;
}

/** What earlier runs know of the row with one destination. */
export interface EarlierRow {
  /** The last time. */
  options: ConversionOptions;
  /** In the latest run; absent: it has not ended there. */
  status?: BatchItemStatus;
  /** The last time that a run wrote there. */
  delivered?: Delivered;
  /** Since then. */
  owed?: Owed;
  /** Items whose jobs may be this row's, the latest first. */
  startedAs: readonly number[];
}

const none: readonly number[] = [];
/** A batch that is terminated again and again is not told so for longer. */
const maxStartedAs = 20;

/** A row as a run was planned with it. `isOver`: the run has ended, so that a row without a result has no job. */
export function plannedRow(item: BatchItem, { isOver }: { isOver: boolean }): EarlierRow {
  const { output, input, done, earlier, kept, refused } = item;
  const options = { output, ...(input !== undefined && { input }) };
  const owed = kept && owedOf(kept, options);
  const before = item.startedAs ?? none;
  const others = before.filter((number) => number !== item.item);
  return {
    options,
    ...(done && { delivered: { ...done, options } }),
    ...(earlier && { owed: { ...earlier, options } }),
    ...(owed && { owed }),
    startedAs: done || kept ? none : isOver || refused ? before : [item.item, ...others].slice(0, maxStartedAs),
  };
}

/** The row when a run has told how it ended. */
export function endedRow(row: EarlierRow, { item, ...result }: BatchItemResult): EarlierRow {
  const { options } = row;
  const { status, source, output: file, taskId, possiblyChargedTwice, workflowId, warnings } = result;
  if (status === 'succeeded') {
    const told = { ...(possiblyChargedTwice === true && { possiblyChargedTwice }), ...(warnings && { warnings }) };
    const done = source && file && { source, output: file, ...(taskId !== undefined && { taskId }), ...told };
    return { options, status, startedAs: none, ...(done && { delivered: { ...done, options } }) };
  }
  const { delivered } = row;
  const kept = { options, status, ...(delivered && { delivered }) };
  // It was done before, or refused; or its turn never came, and what the run was planned with holds on.
  if (workflowId === undefined) {
    const before = { startedAs: row.startedAs, ...(row.owed && { owed: row.owed }) };
    // A job of an earlier run that nobody has looked at may still be open.
    if (status !== 'failed' || row.startedAs.length === 0) return { ...kept, ...before };
    return { options, ...(delivered && { delivered }), ...before };
  }
  const owed = owedOf(result, options);
  return { ...kept, startedAs: [itemOf(workflowId) ?? item], ...(owed && { owed }) };
}

/** Undefined when nothing can have been charged and nothing was marked. Runs of old versions don't tell: it may have been. */
function owedOf(result: Omit<BatchItemResult, 'item'>, options: ConversionOptions): Owed | undefined {
  const { charge = result.status === 'skipped' ? 'no' : 'maybe', taskId, source } = result;
  const isMarked = result.possiblyChargedTwice === true;
  if (charge === 'no' && !isMarked) return undefined;
  const { code, message, phase, workflowId, runId, warnings } = result;
  const left = {
    charge,
    ...(taskId !== undefined && { taskId }),
    ...(source && { source }),
    ...(isMarked && { possiblyChargedTwice: true as const }),
  };
  return {
    options,
    ...left,
    // Not what it has spent: this run spends nothing on it.
    outcome: {
      status: 'failed',
      ...(code !== undefined && { code }),
      ...(message !== undefined && { message }),
      ...(phase && { phase }),
      ...(workflowId !== undefined && { workflowId }),
      ...(runId !== undefined && { runId }),
      ...(warnings && { warnings }),
      ...left,
    },
  };
}

/** Jobs are called `<batch>/<item>`. */
function itemOf(workflowId: string): number | undefined {
  const number = Number(/\/(\d+)$/.exec(workflowId)?.[1]);
  return Number.isSafeInteger(number) ? number : undefined;
}
