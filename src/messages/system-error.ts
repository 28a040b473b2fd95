/** `error.code` of a failed system call, such as `ENOENT`, if any. Works for errors from any realm. */
export function systemErrorCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}

/** Code for a path that is neither a file nor a folder. */
export const notRegular = 'NOT_REGULAR';

/** Why a file named by a setting can't be read, in a few words and without its path. */
export function whyUnreadable(error: unknown): string {
  const code = systemErrorCode(error);
  switch (code) {
    case 'ENOENT':
      return 'there is no such file';
    case 'EISDIR':
      return 'it is a folder';
    case 'EACCES':
      return 'permission denied';
    case notRegular:
      return 'it is a pipe, a socket or a device';
    default:
      return code ?? 'unknown error';
  }
}
