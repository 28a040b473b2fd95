/** One finished conversion, in milliseconds since its submit. */
export interface ObservedTime {
  /** When the service last said "not yet"; 0 when it never did. */
  notYetMs: number;
  /** When it first said "completed". */
  doneMs: number;
  /** The service's own figure, which leaves out how long the conversion stood in line. */
  durationMs?: number | undefined;
}

const maxPairs = 1_000;
const samplesPerPair = 16;
/** Most conversions are done at the first check; the slow ones cost a second. */
const coveredShare = 0.75;
const margin = 1.1;
const marginMs = 50;

/**
 * How long conversions of a pair of formats took lately, so that the first check finds them done. Kept by a worker, bounded: the pairs that were
 * not seen for longest are forgotten.
 */
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

  /** When to check first, in milliseconds after the submit; undefined when the pair was never seen. */
  firstCheckMs(pair: string): number | undefined {
    const samples = this.samples.get(pair);
    if (!samples) return undefined;
    const sorted = [...samples].sort((a, b) => a - b);
    // Rounded down: of two, one may be the first conversion of a service that had just started.
    const covering = sorted[Math.floor(coveredShare * (sorted.length - 1))] ?? 0;
    return covering * margin + marginMs;
  }
}

/**
 * The end lies between the last "not yet" and the "completed"; where in between, the service's own figure tells. Without one a check that came
 * late is answered by trying a little earlier the next time.
 */
function estimate({ notYetMs, doneMs, durationMs }: ObservedTime): number {
  const guessMs = durationMs ?? (notYetMs === 0 ? doneMs * 0.8 : (notYetMs + doneMs) / 2);
  return Math.min(Math.max(guessMs, notYetMs), doneMs);
}
