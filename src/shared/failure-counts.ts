const maxCodes = 20;
const otherCodes = 'other';

/** Counts failures by code, at most 20 codes and the rest together, to bound a workflow's state. */
export function countCode(failures: Record<string, number>, code: string | undefined, times = 1): void {
  const name =
    code !== undefined && (Object.hasOwn(failures, code) || Object.keys(failures).length < maxCodes)
      ? code
      : otherCodes;
  failures[name] = (failures[name] ?? 0) + times;
}
