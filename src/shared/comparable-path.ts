/**
 * The same for paths that some file system takes for one: it may not tell upper from lower case, nor two encodings of one accented letter.
 */
export function comparablePath(path: string): string {
  return path.normalize().toLowerCase();
}
