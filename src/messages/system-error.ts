/** `error.code` of a failed system call, such as `ENOENT`, if any. Works for errors from any realm. */
export function systemErrorCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}

/** Why the file of a setting can't be read, in a few words and without its path. */
export function whyUnreadable(error: unknown): string {
  const code = systemErrorCode(error);
  switch (code) {
    case 'ENOENT':
      return 'there is no such file';
    case 'EISDIR':
      return 'it is a folder';
    case 'EACCES':
      return 'permission denied';
    default:
      return code ?? 'unknown error';
  }
}
