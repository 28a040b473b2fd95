/** Limit per job, because warnings are kept in histories, rows and reports. */
export const maxWarnings = 50;
const maxTotalBytes = 16 * 1024;

/** Key for the number of omitted warnings. */
const leftOutName = 'MORE_WARNINGS';

/** Keeps as many warnings as fit, and counts the omitted ones, including those of earlier calls. */
export function boundWarnings(
  warnings: Readonly<Record<string, string>>,
  { leftOutBefore = 0, maxBytes = maxTotalBytes } = {},
): Record<string, string> {
  const kept: Record<string, string> = {};
  let leftOut = leftOutBefore;
  let count = 0;
  let bytes = 0;
  for (const [name, advice] of Object.entries(warnings)) {
    const leftOutThere = name === leftOutName ? /^and (\d+) more$/.exec(advice)?.[1] : undefined;
    if (leftOutThere !== undefined) {
      leftOut += Number(leftOutThere);
      continue;
    }
    bytes += utf8Bytes(name) + utf8Bytes(advice);
    if (count < maxWarnings && bytes <= maxBytes) kept[name] = advice;
    else leftOut += 1;
    count += 1;
  }
  if (leftOut > 0) kept[leftOutName] = `and ${leftOut} more`;
  return kept;
}

/** An upper bound: workflow code has no `Buffer`, and a UTF-16 code unit is at most three bytes of UTF-8. */
export function utf8Bytes(text: string): number {
  let bytes = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : 3;
  }
  return bytes;
}

export function hasAny(
  warnings: Readonly<Record<string, string>> | undefined,
): warnings is Readonly<Record<string, string>> {
  return warnings !== undefined && Object.keys(warnings).length > 0;
}
