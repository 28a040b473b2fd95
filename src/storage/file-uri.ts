import { fileURLToPath } from 'node:url';
import { withoutSecrets } from '../job/types';
import { cannotUse } from './errors';

/** The local path of a `file:` URI. A trailing `/` is kept. */
export function toPath(uri: string): string {
  if (!/^file:/i.test(uri)) throw cannotUse(uri, 'it is not a file: URI');
  let path: string;
  try {
    path = fileURLToPath(uri);
  } catch (error) {
    // The URI names another host or has an encoded slash.
    throw cannotUse(uri, error instanceof Error ? error.message : String(error), error);
  }
  if (path.includes('\0')) throw cannotUse(uri, 'it holds a null byte');
  return path;
}

/** Replaces these URIs in a message by the paths that users know. */
export function withShownPaths(message: string, uris: readonly string[]): string {
  return uris.reduce((text, uri) => text.replaceAll(uri, () => shownPath(uri)), message);
}

/** The local path of a file, or the URI if it has none. */
export function shownPath(uri: string): string {
  try {
    return toPath(uri);
  } catch {
    return withoutSecrets(uri);
  }
}
