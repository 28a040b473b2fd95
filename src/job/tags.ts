/** Limit for the tags that a job is listed by. */
export const maxTags = 20;

/** Queries of a server on SQLite fail on quotes and backslashes. */
export function isTag(text: string): boolean {
  return /^[^"\\\p{Cc}]{1,100}$/u.test(text);
}
