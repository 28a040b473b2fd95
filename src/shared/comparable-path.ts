/** Equal for paths that some file systems treat as one: by case, or by encodings of an accented letter. */
export function comparablePath(path: string): string {
  return path.normalize().toLowerCase();
}
