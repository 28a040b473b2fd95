import { type BatchItemResult, type BatchItemStatus, countCode } from '../../shared/batch';
import { defined } from '../../shared/defined';
import { hasAny } from '../../shared/warnings';
import { shownPath } from '../../storage/file-uri';
import { Durations } from './durations';
import type { RunRow } from './read-run';

/** `unfinished`: the row has no result yet. */
type RowStatus = BatchItemStatus | 'unfinished';

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
}

interface CodeTally {
  code: string;
  count: number;
  items: ListedItem[];
}

/** More than all codes of the document and ours; a service that invents codes does not fill the memory. */
const maxCodes = 200;
const otherCodes = 'other';
/** For a failure without a code. */
const withoutCode = 'UNEXPECTED';
/** Maximum length of a message in lists; the CSV has the whole text. */
const maxMessageLength = 600;
const maxListedWarnings = 10;

/** Tallies a run's rows in memory that does not grow with their number, and keeps some of those that need attention. */
export class Tally {
  readonly counts: Record<RowStatus, number> = { succeeded: 0, failed: 0, skipped: 0, cancelled: 0, unfinished: 0 };
  items = 0;
  /** Of the skipped. */
  unconvertible = 0;
  vcredits = 0;
  requests = 0;
  /** Total sizes of the converted files and of their results. */
  sourceBytes = 0;
  outputBytes = 0;
  /** Of the items that succeeded. */
  readonly durations = new Durations();
  /** Failed items for which nothing was sent again. */
  kept = 0;
  readonly chargedTwice: { count: number; items: ListedItem[] } = { count: 0, items: [] };
  /** Items with warnings from the service, by warning name: at most 20 names. */
  readonly warned: { count: number; names: Record<string, number>; items: ListedItem[] } = {
    count: 0,
    names: {},
    items: [],
  };
  readonly #codes = new Map<string, CodeTally>();
  #listed = 0;

  /** Lists at most `maxListed` each of failures, items possibly charged twice, and items with warnings. */
  constructor(private readonly maxListed: number) {}

  add(row: RunRow): void {
    const { result } = row;
    this.items += 1;
    this.counts[result?.status ?? 'unfinished'] += 1;
    if (!result) return;
    this.vcredits += result.vcredits ?? 0;
    this.requests += result.requests ?? 0;
    if (result.status === 'succeeded') {
      this.sourceBytes += result.source?.bytes ?? 0;
      this.outputBytes += result.output?.bytes ?? 0;
      if (result.durationMs !== undefined) this.durations.add(result.durationMs);
    }
    if (result.status === 'skipped' && row.item.refused) this.unconvertible += 1;
    if (result.status === 'failed') this.#addFailure(row, result);
    if (result.kept) this.kept += 1;
    if (result.possiblyChargedTwice === true) {
      this.chargedTwice.count += 1;
      if (this.chargedTwice.items.length < this.maxListed) this.chargedTwice.items.push(listed(row, result));
    }
    if (hasAny(result.warnings)) {
      this.warned.count += 1;
      for (const name of Object.keys(result.warnings)) countCode(this.warned.names, cut(name));
      if (this.warned.items.length < this.maxListed) this.warned.items.push(listed(row, result));
    }
  }

  /** The most frequent first; equal counts by code. */
  get failures(): readonly CodeTally[] {
    return [...this.#codes.values()].sort((a, b) => b.count - a.count || (a.code < b.code ? -1 : 1));
  }

  /** Every code gets its share of the list: frequent codes that come first do not crowd out a rare one. */
  #addFailure(row: RunRow, result: BatchItemResult): void {
    const tally = this.#codeTally(result.code ?? withoutCode);
    tally.count += 1;
    if (this.#listed < this.maxListed) {
      this.#listed += 1;
    } else {
      let longest = tally;
      for (const each of this.#codes.values()) if (each.items.length > longest.items.length) longest = each;
      if (longest.items.length <= tally.items.length + 1) return;
      longest.items.pop();
    }
    tally.items.push(listed(row, result));
  }

  #codeTally(code: string): CodeTally {
    const known = this.#codes.get(code);
    if (known) return known;
    if (this.#codes.size >= maxCodes && code !== otherCodes) return this.#codeTally(otherCodes);
    const tally: CodeTally = { code, count: 0, items: [] };
    this.#codes.set(code, tally);
    return tally;
  }
}

function listed({ item }: RunRow, result: BatchItemResult): ListedItem {
  const { message, warnings, phase, taskId, charge, kept, workflowId, runId, durationMs } = result;
  return {
    item: item.item,
    source: shownPath(item.source),
    output: item.output,
    destination: shownPath(item.destination),
    ...defined({ message: message && cut(message), warnings: hasAny(warnings) ? firstOf(warnings) : undefined }),
    ...defined({ phase, taskId, charge, kept, workflowId, runId, durationMs }),
  };
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
