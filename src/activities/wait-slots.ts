/**
 * How many of a worker's slots steps may hold that only wait for other steps: a part of them, so that the others always find one. Shared by all
 * activities of a worker.
 */
export class WaitSlots {
  private held = 0;

  /** `limit`: asked at each use, since a worker knows its slots only once it is there. */
  constructor(private readonly limit: () => number) {}

  /** Runs `work`, which is told whether it may wait in its slot. */
  async use<T>(work: (isFree: boolean) => Promise<T>): Promise<T> {
    if (this.held >= this.limit()) return work(false);
    this.held += 1;
    try {
      return await work(true);
    } finally {
      this.held -= 1;
    }
  }
}

/** Of a worker with so many slots. */
export function waitSlotsOf(slots: number): number {
  return Math.floor(slots / 4);
}
