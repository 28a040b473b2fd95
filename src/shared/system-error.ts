/** `error.code` of a failed system call, such as `ENOENT`; undefined when there is none. Works for errors of any realm. */
export function systemErrorCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}
