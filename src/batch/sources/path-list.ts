import { printable } from '../../shared/printable';
import { decodeText } from '../manifest/decode-text';
import { readLines } from '../lines';
import { peek } from '../peek';
import type { Findings } from '../plan/findings';

const maxPathBytes = 16 * 1024;
/** More than the longest path, so that there is a separator in it. */
const headBytes = 2 * maxPathBytes;

/**
 * The paths of a list: one a line, or each ended by a NUL as `find -print0` writes them, which is told by the first of them. Empty
 * lines are left out; whatever is no path becomes a finding, and a name that is not UTF-8, which no row can hold, a warning.
 */
export async function* readPathList(
  chunks: AsyncIterable<Buffer>,
  { name, findings, warnings }: { name: string; findings: Findings; warnings: Findings },
): AsyncGenerator<{ line: number; path: string }> {
  const { head, all } = await peek(chunks, (seen) => seen.length >= headBytes || seen.includes(0));
  const separator = head.includes(0) ? 0 : undefined;
  const what = separator === 0 ? 'path' : 'line';
  const lines = readLines(all, { maxLineBytes: maxPathBytes, ...(separator !== undefined && { separator }) });
  for await (const { number: line, bytes: pathBytes, tooLong } of lines) {
    const problem = (text: string) => findings.add('ROW_INVALID', `${name} ${what} ${line} ${text}`);
    const path = decodeText(pathBytes);
    if (tooLong) problem('is longer than a path can be. Write one path a line.');
    else if (path === undefined) {
      const shown = printable(Buffer.from(pathBytes).toString('latin1'));
      warnings.add(
        'SOURCE_UNUSABLE',
        `${name} ${what} ${line} (${shown}) is not UTF-8. It is left out: rename the file.`,
      );
    } else if (path.includes('\0')) problem('holds a NUL byte. End all paths with one, or none.');
    else if (path !== '') yield { line, path };
  }
}
