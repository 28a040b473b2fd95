import type { LoggedError } from 'temporal-file-conversion/internal/shared/log';

const deepestCause = 5;

/** What is known of an error that may be of any kind, and of any copy of a package. */
interface ErrorParts {
  name?: unknown;
  message?: unknown;
  stack?: unknown;
  cause?: unknown;
  /** Of an `ApplicationFailure`: the code. */
  type?: unknown;
  details?: unknown;
  nonRetryable?: unknown;
}

/** An error's names and messages, and those of its causes. The stack only of what nobody expected: a failure with a code says what happened. */
export function toLoggedError(error: unknown, depth = 0): LoggedError {
  if (typeof error !== 'object' || error === null) return { type: typeof error, message: String(error) };
  const { name, message, stack, cause, type }: ErrorParts = error;
  const isExpected = codeOf(error) !== undefined;
  const told = typeof message === 'string' ? message : '';
  const inner = cause === undefined || depth === deepestCause ? undefined : toLoggedError(cause, depth + 1);
  return {
    type: textOf(type) ?? textOf(name) ?? 'Error',
    message: told,
    ...(!isExpected && depth === 0 && typeof stack === 'string' && { stack }),
    ...(inner && inner.message !== told && { cause: inner }),
  };
}

/** The code that a failure or one of its causes was given; undefined for what nobody expected. */
export function codeOf(error: unknown): string | undefined {
  const failure = applicationFailureOf(error);
  const code = textOf(failure?.type);
  return code === 'UNEXPECTED' || code === 'Error' ? undefined : code;
}

/** What the activity told beside the code, as far as a line has room for it. */
export function detailsOf(error: unknown): { httpStatus?: number; endpoint?: string; taskId?: string } {
  const { details } = applicationFailureOf(error) ?? {};
  const first: unknown = Array.isArray(details) ? details[0] : undefined;
  if (typeof first !== 'object' || first === null) return {};
  const { httpStatus, endpoint, taskId } = first as Record<string, unknown>;
  return {
    ...(typeof httpStatus === 'number' && { httpStatus }),
    ...(typeof endpoint === 'string' && { endpoint }),
    ...(typeof taskId === 'string' && { taskId }),
  };
}

/** The outermost: by its name, since one that comes out of the workflows' sandbox is of another copy of the class. */
function applicationFailureOf(error: unknown): ErrorParts | undefined {
  let each: unknown = error;
  for (let depth = 0; depth <= deepestCause && typeof each === 'object' && each !== null; depth += 1) {
    const parts: ErrorParts = each;
    if (parts.name === 'ApplicationFailure') return parts;
    each = parts.cause;
  }
  return undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
