import type { BatchState } from './state';
import type { BatchItemEnd } from '../../job/types';
import { counted, formatCount, formatDuration } from '../../messages/wording';

export function endedOf({ succeeded, failed, skipped, cancelled }: Record<BatchItemEnd, number>): number {
  return succeeded + failed + skipped + cancelled;
}

/** Remaining time at this pace; undefined if unknown, for example while jobs wait for a person. */
export function leftMs(state: BatchState, perSecond: number | undefined): number | undefined {
  const left = state.items - endedOf(state);
  if (!perSecond || left === 0 || state.status !== 'running' || state.needsAttention) return undefined;
  return Math.ceil(left / perSecond) * 1_000;
}

/** `1,234 of 5,000, 12 failed, 50 in flight, 23.4 files/s, 3 min left, 1,222 vCredits` */
export function progressText(state: BatchState, perSecond: number | undefined): string {
  const { items, failed, cancelled, inFlight, vcredits, status, needsAttention } = state;
  if (status === 'planning') return 'looks for files';
  const left = leftMs(state, perSecond);
  const parts = [
    `${formatCount(endedOf(state))} of ${formatCount(items)}`,
    failed > 0 ? `${formatCount(failed)} failed` : '',
    cancelled > 0 ? `${formatCount(cancelled)} not converted` : '',
    inFlight > 0 ? `${formatCount(inFlight)} in flight` : '',
    needsAttention ? `${formatCount(needsAttention.jobs)} of them waiting: ${needsAttention.code}` : '',
    perSecond === undefined ? '' : `${perSecond.toFixed(1)} files/s`,
    left === undefined ? '' : `${formatDuration(left)} left`,
    vcredits > 0 ? counted(vcredits, 'vCredit') : '',
  ];
  return parts.filter((part) => part !== '').join(', ');
}
