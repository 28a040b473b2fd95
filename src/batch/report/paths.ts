import { toPath } from '../../storage/file-uri';

/** A file as users know it: its local path, or the URI if it has none. */
export function shownPath(uri: string): string {
  try {
    return toPath(uri);
  } catch {
    return uri;
  }
}

/** The folder, with its slash, and the file name. */
export function splitPath(shown: string): { folder: string; name: string } {
  const cut = shown.lastIndexOf('/') + 1;
  return { folder: shown.slice(0, cut), name: shown.slice(cut) };
}

/** The deepest folder that contains all local paths, with its slash; empty if that is the root. */
export function commonFolder(shown: readonly string[]): string {
  const [first = '', ...others] = shown.filter((each) => each.startsWith('/'));
  let common = splitPath(first).folder;
  for (const each of others) {
    while (!each.startsWith(common)) common = splitPath(common.slice(0, -1)).folder;
  }
  return common === '/' ? '' : common;
}
