import type { WaitReason, Waiting } from 'temporal-file-conversion/internal/client/job-waiting';
import { bothTimes } from '../shown-time';

/** What keeps a job or a batch from going on, and what to type. Times are milliseconds since the epoch. */
export interface Stall extends Omit<Waiting, 'reason'> {
  /** `stack`: none runs here; `temporal`: it can't be reached. */
  reason: WaitReason | 'stack' | 'temporal';
  since?: number;
  next?: NextStep;
}

export interface NextStep {
  /** Begins a sentence that ends with the command. */
  why: string;
  command: string;
}

/** Part of `--json`. */
export function stallJson({ reason, waitsFor, since, until, because, next }: Stall) {
  return {
    reason,
    waitsFor,
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
    ...(because !== undefined && { because }),
    ...(next && { next: next.command }),
  };
}

/** `report.md has waited for vCredits of app billing since 10:25:18 (09:25:18 UTC). When vCredits were added: fileconv credits restored --app billing` */
export function stallText(who: string, { reason, waitsFor, since, until, because, next }: Stall): string {
  const waits = since === undefined ? 'waits' : 'has waited';
  const sinceWhen = since === undefined ? '' : ` since ${bothTimes(since, { isBrief: true })}`;
  const untilWhen = untilText({ reason, until }, { isBrief: true });
  const again =
    until === undefined || untilWhen !== '' ? '' : `It tries again at ${bothTimes(until, { isBrief: true })}.`;
  return [
    `${who} ${waits} for ${waitsFor}${sinceWhen}${untilWhen}.`,
    because === undefined ? '' : asSentence(because),
    again,
    next ? `${next.why}: ${next.command}` : '',
  ]
    .filter((part) => part !== '')
    .join(' ');
}

/** Follows what is waited for; empty when the time says something else, or is not known. */
export function untilText(
  { reason, until }: Pick<Stall, 'reason'> & { until?: number | undefined },
  { isBrief = false }: { isBrief?: boolean } = {},
): string {
  if (until === undefined) return '';
  if (reason === 'rateLimit') return `, until ${bothTimes(until, { isBrief })}`;
  return reason === 'callback' ? `, until ${bothTimes(until, { isBrief })} at the latest` : '';
}

function asSentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
