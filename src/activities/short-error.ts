import { wellFormed } from '../messages/wording';

/** Temporal replaces a failure larger than 4 KiB by one without its code. */
const maxMessageLength = 200;
const maxFrames = 4;
const maxDepth = 2;

/** A copy of an error and its causes, short enough for a failure: zod's errors, for example, list every issue. */
export function shortCause(error: Error, depth = 1): Error {
  const cause = error.cause instanceof Error && depth < maxDepth ? { cause: shortCause(error.cause, depth + 1) } : {};
  const short = new Error(cut(error.message), cause);
  short.name = error.name;
  short.stack = shortStack(error);
  return short;
}

export function shortStack({ name, message, stack = '' }: Error): string {
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line));
  return [`${name}: ${cut(message)}`, ...frames.slice(0, maxFrames)].join('\n');
}

function cut(message: string): string {
  return wellFormed(message.length > maxMessageLength ? `${message.slice(0, maxMessageLength)}…` : message);
}
