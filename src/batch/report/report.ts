import type { BatchCounts, BatchState, BatchStatus, ConversionBatchResult } from '../../shared/batch';
import { jobsLink, workflowLink, type TemporalUi } from '../../shared/temporal-ui';
import { formatCount } from '../../shared/wording';
import { adviceOn } from './advice';
import type { Durations } from './durations';
import type { ListedItem, Tally } from './tally';

export interface FailureGroup {
  code: string;
  count: number;
  what: string;
  /** What to do before a retry. Commands are in backticks. */
  advice: string;
  /** Not all items in a large batch: the groups share one limit. */
  items: (ListedItem & { link?: string })[];
}

/** What is known of a batch from its run's folder, for `report.json`, the page and the terminal. Durations in ms. */
export interface BatchReport {
  batch: string;
  status: BatchStatus;
  /** Milliseconds since the epoch. */
  startedAt: number;
  /** Until the batch ended; absent while it runs. */
  durationMs?: number;
  /** `unfinished`: rows without a result. All counts but `items` add up to `items`. */
  counts: Omit<BatchCounts, 'inFlight' | 'waiting'> & { unfinished: number };
  vcredits: number;
  requests: number;
  /** Of the items that succeeded. */
  bytes: { source: number; output: number };
  /** Of the items that succeeded; absent if there are none. Quantiles are exact to half a percent. */
  durations?: { medianMs: number; p95Ms: number; longestMs: number };
  /** Jobs whose convert request had an unknown outcome and was sent again. */
  possiblyChargedTwice: { count: number; items: FailureGroup['items'] };
  /** Skipped items that the service was known to refuse. Absent: none. */
  unconvertible?: number;
  /** Failed items that an earlier run may have been charged for, so that nothing was sent again. */
  kept: number;
  /** Items with warnings from the service, and how many have each warning: at most 20 names, the rest under `other`. */
  serviceWarnings: { count: number; names: Record<string, number>; items: FailureGroup['items'] };
  /** The most frequent code first. */
  failures: FailureGroup[];
  /** Inconsistencies that need to be looked at. */
  warnings: string[];
  /** Paths, or URIs of what is not on this machine. */
  files: { csv: string; json: string; html: string; results: string };
  links?: { batch: string; jobs: string };
}

export interface ReportSources {
  batch: string;
  state: BatchState | ConversionBatchResult;
  files: BatchReport['files'];
  ui: TemporalUi | undefined;
}

export function composeReport(tally: Tally, { batch, state, files, ui }: ReportSources): BatchReport {
  const withLinks = (items: readonly ListedItem[]) => items.map((item) => withLink(item, ui));
  return {
    batch,
    status: state.status,
    startedAt: state.startedAt,
    ...('durationMs' in state && { durationMs: state.durationMs }),
    counts: { items: tally.items, ...tally.counts },
    vcredits: tally.vcredits,
    requests: tally.requests,
    bytes: { source: tally.sourceBytes, output: tally.outputBytes },
    ...(tally.durations.count > 0 && { durations: describeDurations(tally.durations) }),
    possiblyChargedTwice: { count: tally.chargedTwice.count, items: withLinks(tally.chargedTwice.items) },
    ...(tally.unconvertible > 0 && { unconvertible: tally.unconvertible }),
    kept: tally.kept,
    serviceWarnings: { ...tally.warned, items: withLinks(tally.warned.items) },
    failures: tally.failures.map(({ code, count, items }) => {
      const { what, toDo } = adviceOn(code);
      return { code, count, what, advice: toDo, items: withLinks(items) };
    }),
    warnings: disagreements(tally, state),
    files,
    ...(ui && { links: { batch: workflowLink(ui, batch), jobs: jobsLink(ui, batch) } }),
  };
}

function withLink(item: ListedItem, ui: TemporalUi | undefined): FailureGroup['items'][number] {
  if (!ui || item.workflowId === undefined) return item;
  return { ...item, link: workflowLink(ui, item.workflowId, item.runId) };
}

function describeDurations(durations: Durations): NonNullable<BatchReport['durations']> {
  return {
    medianMs: Math.round(durations.quantileMs(0.5)),
    p95Ms: Math.round(durations.quantileMs(0.95)),
    longestMs: durations.longestMs,
  };
}

/** For a batch that ended: where its own counts differ from its files. */
function disagreements({ items, counts }: Tally, state: BatchState): string[] {
  if (!hasEnded(state.status)) return [];
  const found = { items, ...counts };
  const names = ['items', 'succeeded', 'failed', 'skipped', 'cancelled'] as const;
  return names
    .filter((name) => found[name] !== state[name])
    .map((name) => {
      const [counted, told] = [formatCount(found[name]), formatCount(state[name])];
      return `The batch counted ${told} as ${name}, its results hold ${counted}: look at the batch's workflow before relying on this report.`;
    });
}

export function hasEnded(status: BatchStatus): boolean {
  return status === 'completed' || status === 'cancelled' || status === 'stopped';
}
