import path from 'node:path';
import { wellFormed } from '../messages/wording';

/** Linux, macOS and Windows all accept names of this length; Linux counts bytes. */
export const maxNameBytes = 255;
/** The limit on Linux is 4,095, but the temporary file beside a result has a longer name. */
export const maxPathBytes = 4_063;
/** Suffix for the name of a suspect result beside its destination. */
export const suspectSuffix = '.suspect';
const maxExtensionBytes = 32;

/** Makes a suggested name safe: never a path, never hidden, valid on every system. Safe names stay unchanged. */
export function makeSafeName(suggested: string): string {
  const lastSegment = suggested.split(/[/\\]/).findLast((segment) => /[^.\s]/.test(segment)) ?? '';
  const cleaned = wellFormed(lastSegment)
    // Control characters, and direction marks that disguise a name.
    .replace(/[\p{Cc}\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu, '')
    .replace(/[<>:"|?*]/g, '_')
    .replace(/^[.\s]+|[.\s]+$/g, '');
  const named = cleaned === '' ? 'output' : cleaned;
  const unreserved = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i.test(named) ? `_${named}` : named;
  return withSuffix(unreserved, '');
}

/** `report (1).pdf`; 0: the name itself, shortened if necessary. */
export function numberName(name: string, number: number, maxBytes = maxNameBytes): string {
  return withSuffix(name, number === 0 ? '' : ` (${number})`, maxBytes);
}

/** The first `maxBytes` of a text in UTF-8, without splitting a character. */
export function cutToBytes(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text;
  let bytes = 0;
  let kept = '';
  for (const character of text) {
    bytes += Buffer.byteLength(character);
    if (bytes > maxBytes) break;
    kept += character;
  }
  return kept;
}

/** Inserts a suffix before the extension; shortens the stem if the name would be too long. */
function withSuffix(name: string, suffix: string, maxBytes = maxNameBytes): string {
  const found = path.extname(name);
  const extension = Buffer.byteLength(found) <= maxExtensionBytes ? found : '';
  const stem = name.slice(0, name.length - extension.length);
  return cutToBytes(stem, maxBytes - Buffer.byteLength(suffix + extension)) + suffix + extension;
}
