/** Neighbouring bins differ by one percent, so quantiles are exact to half a percent: finer than anyone reads them. */
const ratio = Math.log(1.01);

/** One bar of the chart: includes `fromMs`, excludes `toMs`. */
export interface DurationBar {
  fromMs: number;
  toMs: number;
  count: number;
}

/** A histogram of job durations, in memory that does not grow with their number. */
export class Durations {
  readonly #bins: number[] = [];
  count = 0;
  #shortestMs = Infinity;
  longestMs = 0;

  add(ms: number): void {
    // A clock that was set back must not spoil the rest.
    const bin = Math.floor(Math.log(Math.max(ms, 1)) / ratio);
    this.#bins[bin] = (this.#bins[bin] ?? 0) + 1;
    this.count += 1;
    this.#shortestMs = Math.min(this.#shortestMs, Math.max(ms, 1));
    this.longestMs = Math.max(this.longestMs, ms);
  }

  /** The duration that a `share` (0 to 1) of the jobs did not exceed; 0 without jobs. */
  quantileMs(share: number): number {
    const rank = Math.max(1, Math.ceil(share * this.count));
    let seen = 0;
    for (let bin = 0; bin < this.#bins.length; bin += 1) {
      seen += this.#bins[bin] ?? 0;
      if (seen >= rank) return Math.min(this.longestMs, Math.exp((bin + 0.5) * ratio));
    }
    return this.longestMs;
  }

  /** At most `maxBars` bars of equal width on a logarithmic axis, from the shortest to the longest job. */
  bars(maxBars: number): DurationBar[] {
    if (this.count === 0) return [];
    const first = Math.floor(Math.log(this.#shortestMs) / ratio);
    const binsPerBar = Math.max(1, Math.ceil((this.#bins.length - first) / maxBars));
    const bars: DurationBar[] = [];
    for (let bin = first; bin < this.#bins.length; bin += binsPerBar) {
      let count = 0;
      for (let each = bin; each < bin + binsPerBar; each += 1) count += this.#bins[each] ?? 0;
      bars.push({ fromMs: Math.exp(bin * ratio), toMs: Math.exp((bin + binsPerBar) * ratio), count });
    }
    return bars;
  }
}
