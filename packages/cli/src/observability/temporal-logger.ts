import type { LogMetadata } from '@temporalio/common';
import { DefaultLogger } from '@temporalio/worker';
import { jobFailedMessage } from 'temporal-file-conversion/internal/shared/log';
import type { Log, LogFields, LoggedError } from 'temporal-file-conversion/internal/shared/log';
import { z } from 'zod';

/**
 * What the Temporal SDK, its native part, workflows and activities say, as lines of a log.
 *
 * Of their fields only ids, numbers and errors are kept: at level `trace` the SDK also logs whole activations with the payloads of
 * jobs.
 */
export function createTemporalLogger(write: Log): DefaultLogger {
  /** Runs that logged their failure themselves, in more detail than the SDK will. */
  const toldRuns = new Set<unknown>();
  return new DefaultLogger('TRACE', ({ level, message, timestampNanos, meta = {} }) => {
    const { runId } = meta;
    if (message === jobFailedMessage) toldRuns.add(runId);
    const isTold = message === 'Workflow failed' && toldRuns.delete(runId);
    write(message, {
      // The SDK keeps lines for a moment to bring them into their order.
      time: new Date(Number(timestampNanos / 1_000_000n)).toISOString(),
      ...fieldsOf(meta),
      level: isTold ? 'debug' : (level.toLowerCase() as Lowercase<typeof level>),
    });
  });
}

/** Whoever has a task token may complete the activity. */
const dropped = new Set(['taskToken', 'isLocal']);

function fieldsOf(meta: LogMetadata): LogFields {
  const fields: Record<string, LogFields[string]> = {};
  for (const [key, value] of Object.entries(meta)) {
    if (dropped.has(key)) continue;
    const name = key === 'workflowRunId' ? 'runId' : key;
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') fields[name] = value;
    else if (typeof value === 'bigint') fields[name] = String(value);
  }
  const error: unknown = meta['error'] ?? meta['err'];
  if (error === undefined) return fields;
  const code = codeOf(error);
  return { ...fields, ...(code !== undefined && { code }), ...detailsOf(error), error: toLoggedError(error) };
}

const deepestCause = 5;

/** Properties that an error of any class, from any copy of a package, may have. */
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

/** Names and messages of an error and its causes. The stack only of unexpected errors: a failure with a code says what happened. */
function toLoggedError(error: unknown, depth = 0): LoggedError {
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

/** The code of a failure or of one of its causes; undefined for an unexpected error. */
function codeOf(error: unknown): string | undefined {
  const failure = applicationFailureOf(error);
  const code = textOf(failure?.type);
  return code === 'UNEXPECTED' || code === 'Error' ? undefined : code;
}

const detailsSchema = z.object({ httpStatus: z.number(), endpoint: z.string(), taskId: z.string() }).partial();

/** Details that the activity gave besides the code, as far as they fit into a line. */
function detailsOf(error: unknown): LogFields {
  const { details } = applicationFailureOf(error) ?? {};
  const first: unknown = Array.isArray(details) ? details[0] : undefined;
  return detailsSchema.safeParse(first).data ?? {};
}

/** The outermost one. By name, since a failure from the workflow sandbox is of another copy of the class. */
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
