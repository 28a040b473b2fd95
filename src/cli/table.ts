import Table from 'cli-table3';

/** A table without lines: it can be read, copied and cut into columns. */
export function formatTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const table = new Table({
    head: [...head],
    chars: {
      top: '',
      'top-mid': '',
      'top-left': '',
      'top-right': '',
      bottom: '',
      'bottom-mid': '',
      'bottom-left': '',
      'bottom-right': '',
      left: '',
      'left-mid': '',
      mid: '',
      'mid-mid': '',
      right: '',
      'right-mid': '',
      middle: '  ',
    },
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [] },
  });
  table.push(...rows.map((row) => [...row]));
  return table.toString().replace(/ +$/gm, '');
}

/** `12.3 kB`, in powers of ten as file managers count. */
export function fileSize(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 0;
  // Half a unit below 1,000 rounds to 1000.0 of it.
  for (; value >= (unit === 0 ? 1_000 : 999.95) && unit < units.length - 1; unit += 1) value /= 1_000;
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit] ?? 'B'}`;
}
