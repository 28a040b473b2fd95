import type { BatchItem } from '../model/types';
import { type BatchCounts, type BatchItemResult, type BatchState, type BatchStatus, countCode } from '../model/state';
import { endOfItem } from '../../job/types';
import type { RunningBatch } from '../model/activities';
import { defined } from '../../job/defined';
import { leftMs } from '../model/progress';
import { Spending, type Receipt } from '../model/spending';
import { jobsLink, workflowLink, type TemporalUi } from '../../job/temporal-ui';
import { hasAny } from '../../job/warnings';
import { shownPath, withShownPaths } from '../../storage/file-uri';
import { extensionOf } from '../uris';
import { adviceOn } from './advice';

/** A row of the manifest with its result. Once the batch has ended, every row has one. */
export interface RunRow {
  readonly item: BatchItem;
  readonly result?: BatchItemResult;
}

/** An item that needs attention. Its message may be cut; the CSV has the whole text. */
export interface ListedItem extends Pick<
  BatchItemResult,
  'message' | 'phase' | 'taskId' | 'charge' | 'kept' | 'workflowId' | 'runId' | 'durationMs'
> {
  item: number;
  /** Path, or the URI if it is not a local file. */
  source: string;
  /** Target format. */
  output: string;
  destination: string;
  /** The service's warnings, name and advice. Long ones are cut. */
  warnings?: Record<string, string>;
  link?: string;
}

export interface FailureGroup {
  code: string;
  count: number;
  what: string;
  /** What to do before a retry. Commands are in backticks. */
  advice: string;
  /** Not all items in a large batch: the groups share one limit. */
  items: ListedItem[];
}

/** What is known of a batch from its run's folder, for `report.json`, the page and the terminal. Durations in ms. */
export interface BatchReport {
  batch: string;
  status: BatchStatus;
  /** Milliseconds since the epoch. */
  startedAt: number;
  /** Until the batch ended, or until now. */
  durationMs: number;
  /** Only while the batch runs. */
  running?: Running;
  /** All counts but `items` add up to `items`. */
  counts: Omit<BatchCounts, 'inFlight' | 'waiting'>;
  vcredits: number;
  requests: number;
  receipt: Receipt;
  /** How many files of each pair of formats there were, and how many of them failed: at most 20 pairs, the rest under `other`. */
  formats: Record<string, { files: number; failed: number }>;
  /** How many ended, and how many of those failed, in each of 60 equal parts of the time so far. */
  pace: { ended: number; failed: number }[];
  /** Bytes of the items that succeeded. */
  bytes: { source: number; output: number };
  /** Jobs whose convert request had an unknown outcome and was sent again. */
  possiblyChargedTwice: { count: number; items: ListedItem[] };
  /** Skipped items that the service was known to refuse. Absent: none. */
  unconvertible?: number;
  /** Skipped items whose results are not where they were delivered. Absent: none. */
  missing?: number;
  /** Skipped items: at most 100, those that the service was known to refuse first. */
  skipped: ListedItem[];
  /** Failed items that may have been charged but have no result to fetch: converting them again may be charged twice. */
  kept: number;
  /** Failed items with a suspect result beside the destination; a retry does not convert them again. Absent: none. */
  suspect?: number;
  /** Failed rows that would fail again in a retry, because they need a new plan. Absent: none. */
  unclear?: number;
  /** Files and folders that are no items because they or their names can't be read, with the first messages. Absent: none. */
  leftOut?: { count: number; messages: string[] };
  /** Items with warnings from the service, and how many have each warning: at most 20 names, the rest under `other`. */
  serviceWarnings: { count: number; names: Record<string, number>; items: ListedItem[] };
  /** The most frequent code first; equal counts by code. */
  failures: FailureGroup[];
  /** Paths, or URIs of files that are not on this machine. */
  files: { csv: string; json: string; html: string; receipt: string; results: string };
  links?: { batch: string; jobs: string };
}

/** Progress of a running batch. */
export interface Running {
  /** Time of this state, in milliseconds since the epoch. */
  at: number;
  inFlight: number;
  waiting: number;
  /** Absent if unknown. */
  leftMs?: number;
  waits?: WaitsFor;
  /** Why the batch has failed as a whole; this is its last page. */
  failure?: string;
}

/** Why a batch makes no progress. Times are milliseconds since the epoch. */
export interface WaitsFor {
  /** Completes "waits for". */
  waitsFor: string;
  because?: string;
  since?: number;
  /** When it is tried again. */
  until?: number;
  next?: { why: string; command: string };
}

export function reportPage(folder: string): string {
  return `${folder}report.html`;
}

/** More than the codes of the document and ours together; bounds memory if the service invents codes. */
const maxCodes = 200;
const otherCodes = 'other';
/** Code of a failure that has none. */
const withoutCode = 'UNEXPECTED';
/** Maximum length of a message in lists; the CSV has the whole text. */
const maxMessageLength = 600;
const maxListedWarnings = 10;
const maxListedSkipped = 100;
const maxPairs = 20;
/** Number of equal parts into which the time so far is divided. */
const parts = 60;

/** Tallies a run's rows in memory that does not grow with their number, and keeps some of those that need attention. */
export class Tally {
  readonly #counts = { items: 0, succeeded: 0, failed: 0, skipped: 0, cancelled: 0 };
  readonly #marked = { kept: 0, unconvertible: 0, missing: 0, suspect: 0, unclear: 0 };
  readonly #skipped: ListedItem[] = [];
  readonly #refused: ListedItem[] = [];
  #requests = 0;
  readonly #bytes = { source: 0, output: 0 };
  readonly #spending = Spending.from();
  readonly #formats: BatchReport['formats'] = {};
  readonly #pace: BatchReport['pace'] = Array.from({ length: parts }, () => ({ ended: 0, failed: 0 }));
  readonly #chargedTwice: BatchReport['possiblyChargedTwice'] = { count: 0, items: [] };
  readonly #warned: BatchReport['serviceWarnings'] = { count: 0, names: {}, items: [] };
  readonly #groups = new Map<string, FailureGroup>();
  #listed = 0;

  /** Lists at most `maxListed` each of failures, items possibly charged twice, and items with warnings. */
  constructor(
    private readonly maxListed: number,
    private readonly ui: TemporalUi | undefined,
    /** The batch's times so far. */
    private readonly time: Pick<BatchReport, 'startedAt' | 'durationMs'>,
  ) {}

  add(row: RunRow): void {
    const { item, result } = row;
    this.#counts.items += 1;
    this.#draw(row);
    if (!result) return;
    this.#counts[endOfItem(result.status)] += 1;
    this.#spending.add(result, item);
    this.#requests += result.requests ?? 0;
    if (result.status === 'succeeded') {
      this.#bytes.source += result.source?.bytes ?? 0;
      this.#bytes.output += result.output?.bytes ?? 0;
    }
    if (result.status === 'skipped') {
      if (row.item.refused) this.#marked.unconvertible += 1;
      if (result.missing) this.#marked.missing += 1;
      const list = row.item.refused ? this.#refused : this.#skipped;
      if (list.length < maxListedSkipped) list.push(this.#item(row, result));
    }
    if (endOfItem(result.status) === 'failed') this.#addFailure(row, result);
    if (result.status === 'suspect') this.#marked.suspect += 1;
    else if (result.kept ?? (result.status === 'failed' && result.charge === 'maybe')) this.#marked.kept += 1;
    if (row.item.refused?.isUnclear) this.#marked.unclear += 1;
    if (result.possiblyChargedTwice === true) {
      this.#chargedTwice.count += 1;
      if (this.#chargedTwice.items.length < this.maxListed) this.#chargedTwice.items.push(this.#item(row, result));
    }
    if (hasAny(result.warnings)) {
      this.#warned.count += 1;
      for (const name of Object.keys(result.warnings)) countCode(this.#warned.names, cut(name));
      if (this.#warned.items.length < this.maxListed) this.#warned.items.push(this.#item(row, result));
    }
  }

  report(
    batch: string,
    { state, files }: { state: BatchState & { durationMs: number }; files: BatchReport['files'] },
  ): BatchReport {
    const { ui } = this;
    const { receipt } = this.#spending;
    const { kept, ...others } = this.#marked;
    return {
      batch,
      status: state.status,
      startedAt: state.startedAt,
      durationMs: state.durationMs,
      counts: this.#counts,
      vcredits: receipt.charged.vcredits,
      requests: this.#requests,
      receipt,
      formats: this.#formats,
      pace: this.#pace,
      bytes: this.#bytes,
      possiblyChargedTwice: this.#chargedTwice,
      kept,
      ...Object.fromEntries(Object.entries(others).filter(([, count]) => count > 0)),
      skipped: [...this.#refused, ...this.#skipped].slice(0, maxListedSkipped),
      ...leftOutOf(state),
      serviceWarnings: this.#warned,
      failures: [...this.#groups.values()].sort((a, b) => b.count - a.count || (a.code < b.code ? -1 : 1)),
      files,
      ...(ui && { links: { batch: workflowLink(ui, batch), jobs: jobsLink(ui, batch) } }),
    };
  }

  /** The progress of a running batch, which has counted more than its part files hold. */
  progress(
    batch: string,
    { state, files, waits }: { state: RunningBatch; files: BatchReport['files']; waits: WaitsFor | undefined },
  ): BatchReport {
    const { at, startedAt, items, succeeded, failed, skipped, cancelled, inFlight, waiting } = state;
    const { vcredits, requests, perSecond } = state;
    for (const [code, count] of Object.entries(state.failures)) {
      const group = this.#groupOf(code);
      group.count = Math.max(group.count, count);
    }
    const counts = { items, succeeded, failed, skipped, cancelled };
    const estimates = defined({ leftMs: leftMs(state, perSecond), waits, failure: state.failure });
    const running = { at, inFlight, waiting, ...estimates };
    const report = this.report(batch, { state: { ...state, durationMs: at - startedAt }, files });
    return { ...report, counts, vcredits, requests, running };
  }

  /** Every code gets its share of the list: frequent codes that come first do not crowd out a rare one. */
  #addFailure(row: RunRow, result: BatchItemResult): void {
    const group = this.#groupOf(result.code ?? withoutCode);
    group.count += 1;
    if (this.#listed < this.maxListed) {
      this.#listed += 1;
    } else {
      let longest = group;
      for (const each of this.#groups.values()) if (each.items.length > longest.items.length) longest = each;
      if (longest.items.length <= group.items.length + 1) return;
      longest.items.pop();
    }
    group.items.push(this.#item(row, result));
  }

  /** Counts for the pictures. */
  #draw({ item: { source, input, output }, result }: RunRow): void {
    const asked = `${input ?? (extensionOf(source) || '?')} → ${output}`;
    const isListed = asked in this.#formats || Object.keys(this.#formats).length < maxPairs;
    const pair = (this.#formats[isListed ? asked : otherCodes] ??= { files: 0, failed: 0 });
    const failed = result && endOfItem(result.status) === 'failed' ? 1 : 0;
    pair.files += 1;
    pair.failed += failed;
    if (result?.startedAt === undefined || result.durationMs === undefined) return;
    const elapsed = result.startedAt + result.durationMs - this.time.startedAt;
    const part = this.#pace[Math.min(Math.floor((elapsed / this.time.durationMs) * parts), parts - 1)];
    if (!part) return;
    part.ended += 1;
    part.failed += failed;
  }

  #groupOf(asked: string): FailureGroup {
    const code = this.#groups.has(asked) || this.#groups.size < maxCodes ? asked : otherCodes;
    const { what, toDo: advice } = adviceOn(code);
    const group = this.#groups.get(code) ?? { code, count: 0, what, advice, items: [] };
    this.#groups.set(code, group);
    return group;
  }

  #item({ item }: RunRow, result: BatchItemResult): ListedItem {
    const { warnings, phase, taskId, charge, kept, workflowId, runId, durationMs } = result;
    const message = rowMessage({ item, result });
    const link = this.ui && workflowId !== undefined ? workflowLink(this.ui, workflowId, runId) : undefined;
    return {
      item: item.item,
      source: shownPath(item.source),
      output: item.output,
      destination: shownPath(item.destination),
      ...defined({ message: message && cut(message), warnings: hasAny(warnings) ? firstOf(warnings) : undefined }),
      ...defined({ phase, taskId, charge, kept, workflowId, runId, durationMs, link }),
    };
  }
}

/** The message of a row, with paths instead of URIs. */
export function rowMessage({ item, result }: RunRow): string | undefined {
  // The URI of a suspect result begins with its destination, so it is replaced first.
  const { message, output } = result ?? {};
  return message && withShownPaths(message, [item.source, output?.uri ?? item.destination, item.destination]);
}

/** Files and folders that the plan left out because they could not be read. */
export function leftOutOf({ planned }: Pick<BatchState, 'planned'>): Pick<BatchReport, 'leftOut'> {
  const { leftOut: count = 0, warnings = [] } = planned ?? {};
  return count > 0 ? { leftOut: { count, messages: warnings.slice(0, count) } } : {};
}

function firstOf(warnings: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(warnings);
  const first = entries.slice(0, maxListedWarnings).map(([name, advice]) => [cut(name), cut(advice)] as const);
  const rest = entries.length - first.length;
  return Object.fromEntries([...first, ...(rest > 0 ? [['…', `${rest} more`] as const] : [])]);
}

function cut(message: string): string {
  return message.length > maxMessageLength ? `${message.slice(0, maxMessageLength)}…` : message;
}
