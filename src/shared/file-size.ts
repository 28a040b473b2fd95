/** `12.3 kB`, in powers of ten like file managers. */
export function fileSize(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 0;
  // 999.95 and more would round to 1000.0.
  for (; value >= (unit === 0 ? 1_000 : 999.95) && unit < units.length - 1; unit += 1) value /= 1_000;
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit] ?? 'B'}`;
}
