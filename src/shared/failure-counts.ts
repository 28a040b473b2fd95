const maxCodes = 20;
const otherCodes = 'other';

/** Counts failures by code, of 20 codes at most and the rest together: a service that makes codes up does not fill a workflow's state. */
export function countCode(failures: Record<string, number>, code: string | undefined, times = 1): void {
  const name =
    code !== undefined && (Object.hasOwn(failures, code) || Object.keys(failures).length < maxCodes)
      ? code
      : otherCodes;
  failures[name] = (failures[name] ?? 0) + times;
}
