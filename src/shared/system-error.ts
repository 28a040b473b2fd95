/** `error.code` of a failed system call, such as `ENOENT`, if any. Works for errors from any realm. */
export function systemErrorCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}
