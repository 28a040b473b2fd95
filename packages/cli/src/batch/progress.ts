import type { BatchState } from 'temporal-file-conversion/internal/shared/batch';
import { formatCount, formatDuration } from 'temporal-file-conversion/internal/shared/wording';
import type { Output } from '../output/output';

const barCells = 24;
/** The rate is that of the last half minute: what a batch did hours ago says nothing about its end. */
const rateWindowMs = 30_000;
const newsEveryMs = 30_000;

/** Shows how far a batch is: a bar on a terminal, else a line now and then. */
export class BatchProgress {
  private readonly samples: { at: number; ended: number }[] = [];
  private toldAt = Date.now();
  private toldOf: string | undefined;

  constructor(private readonly output: Output) {}

  show(state: BatchState, now = Date.now()): void {
    const ended = endedOf(state);
    this.samples.push({ at: now, ended });
    while (this.samples.length > 2 && now - (this.samples[0]?.at ?? now) > rateWindowMs) this.samples.shift();
    const text = progressText(state, this.perSecond());
    const { code, message } = state.needsAttention ?? {};
    const attention = message === undefined ? [] : [message];
    if (this.output.isLive) {
      this.output.live([`${bar(ended, state.items)} ${text}`, ...attention]);
    } else if (now - this.toldAt >= newsEveryMs || (code !== undefined && code !== this.toldOf)) {
      this.toldAt = now;
      for (const line of [text, ...attention]) this.output.say(line);
    }
    this.toldOf = code;
  }

  /** No worker answers, or the server is away. */
  showSilence(): void {
    if (this.output.isLive) this.output.live(['No worker answers. What is broken: fileconv doctor']);
  }

  close(): void {
    this.output.live([]);
  }

  private perSecond(): number | undefined {
    const [first] = this.samples;
    const last = this.samples.at(-1);
    if (!first || !last || last.at - first.at < 2_000) return undefined;
    return ((last.ended - first.ended) * 1_000) / (last.at - first.at);
  }
}

/** `1,234 of 5,000, 12 failed, 50 in flight, 23.4 files/s, 3 min left, 1,222 vCredits` */
export function progressText(state: BatchState, perSecond: number | undefined): string {
  const { items, failed, cancelled, inFlight, vcredits, status, needsAttention } = state;
  const left = items - endedOf(state);
  const parts = [
    `${formatCount(endedOf(state))} of ${formatCount(items)}`,
    failed > 0 ? `${formatCount(failed)} failed` : '',
    cancelled > 0 ? `${formatCount(cancelled)} not converted` : '',
    inFlight > 0 ? `${formatCount(inFlight)} in flight` : '',
    needsAttention ? `${formatCount(needsAttention.jobs)} of them waiting: ${needsAttention.code}` : '',
    status === 'running' || status === 'completed' ? '' : status,
    perSecond === undefined ? '' : `${perSecond.toFixed(1)} files/s`,
    perSecond === undefined || perSecond <= 0 || left === 0 || status !== 'running'
      ? ''
      : `${formatDuration(Math.ceil(left / perSecond) * 1_000)} left`,
    vcredits > 0 ? `${formatCount(vcredits)} vCredits` : '',
  ];
  return parts.filter((part) => part !== '').join(', ');
}

/** Items that are in their final state. */
export function endedOf({ succeeded, failed, skipped, cancelled }: BatchState): number {
  return succeeded + failed + skipped + cancelled;
}

function bar(ended: number, items: number): string {
  const full = items === 0 ? barCells : Math.floor((ended / items) * barCells);
  return `[${'█'.repeat(full)}${'░'.repeat(barCells - full)}]`;
}
