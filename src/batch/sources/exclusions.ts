import picomatch from 'picomatch';

/** Whether a file or folder is to be left out, by its path relative to the named folder and as messages show it. */
export type Exclusion = (relative: string, shown: string) => boolean;

/**
 * As in a .gitignore: a pattern without a slash is for the name of any file or folder, one with a slash for the path in the named
 * folder, or for the path as it was typed. A folder that is left out is not looked into.
 */
export function createExclusion(patterns: readonly string[]): Exclusion {
  const names: ((text: string) => boolean)[] = [];
  const paths: ((text: string) => boolean)[] = [];
  for (const pattern of patterns) {
    const trimmed = pattern.replace(/^\.?\//, '').replace(/\/(\*\*)?$/, '');
    (trimmed.includes('/') ? paths : names).push(picomatch(trimmed, { dot: true }));
  }
  return (relative, shown) => {
    const name = relative.slice(relative.lastIndexOf('/') + 1);
    return names.some((matches) => matches(name)) || paths.some((matches) => matches(relative) || matches(shown));
  };
}
