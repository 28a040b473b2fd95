/** One finished conversion; times are milliseconds since its submit. */
export interface ObservedTime {
  /** When the service last answered "not yet"; 0 if never. */
  notYetMs: number;
  /** When the service first answered "completed". */
  doneMs: number;
  /** The service's own figure, which excludes the time in its queue. */
  durationMs?: number | undefined;
}

const maxPairs = 1_000;
const samplesPerPair = 16;
/** Most conversions are done at the first check; slow ones cost a second one. */
const coveredShare = 0.75;
const margin = 1.1;
const marginMs = 50;

/** A worker's recent conversion times by pair of formats, to time the first check. Evicts the least recently seen. */
export class ConversionTimes {
  private readonly samples = new Map<string, number[]>();

  observe(pair: string, time: ObservedTime): void {
    const samples = this.samples.get(pair) ?? [];
    samples.push(estimate(time));
    if (samples.length > samplesPerPair) samples.shift();
    this.samples.delete(pair);
    this.samples.set(pair, samples);
    if (this.samples.size > maxPairs) this.samples.delete(this.samples.keys().next().value ?? '');
  }

  /** When to check first, in milliseconds after the submit; undefined for a pair without samples. */
  firstCheckMs(pair: string): number | undefined {
    const samples = this.samples.get(pair);
    if (!samples) return undefined;
    const sorted = [...samples].sort((a, b) => a - b);
    // Rounded down: one of two samples may be the first conversion of a service that had just started.
    const covering = sorted[Math.floor(coveredShare * (sorted.length - 1))] ?? 0;
    return covering * margin + marginMs;
  }
}

/**
 * The end lies between the last "not yet" and "completed"; the service's own figure narrows it down. Without one, a
 * late check makes the next first check a little earlier.
 */
function estimate({ notYetMs, doneMs, durationMs }: ObservedTime): number {
  const guessMs = durationMs ?? (notYetMs === 0 ? doneMs * 0.8 : (notYetMs + doneMs) / 2);
  return Math.min(Math.max(guessMs, notYetMs), doneMs);
}
