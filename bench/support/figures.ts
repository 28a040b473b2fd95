export function round(value: number, digits = 2): number {
  return Number(value.toFixed(digits));
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? Number.NaN) + (sorted[Math.floor(middle)] ?? Number.NaN)) / 2;
}

export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Runs `count` of them in so many lanes, each of which takes the next one until none is left; how many were done a second. */
export async function perSecond(
  { count, lanes }: { count: number; lanes: number },
  run: (index: number, lane: number) => Promise<unknown>,
): Promise<number> {
  const startedAt = performance.now();
  let next = 0;
  await Promise.all(
    Array.from({ length: lanes }, async (_, lane) => {
      while (next < count) {
        const index = next;
        next += 1;
        await run(index, lane);
      }
    }),
  );
  return count / ((performance.now() - startedAt) / 1_000);
}
