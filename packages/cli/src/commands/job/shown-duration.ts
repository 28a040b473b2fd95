/** `350 ms`, `4.2 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`. */
export function shownDuration(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  const seconds = ms / 1_000;
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 3_600) return two(whole, [60, 'min'], [1, 's']);
  if (whole < 86_400) return two(whole, [3_600, 'h'], [60, 'min']);
  return two(whole, [86_400, 'd'], [3_600, 'h']);
}

function two(seconds: number, [large, largeName]: [number, string], [small, smallName]: [number, string]): string {
  const rest = Math.floor((seconds % large) / small);
  return `${Math.floor(seconds / large)} ${largeName}${rest === 0 ? '' : ` ${rest} ${smallName}`}`;
}
