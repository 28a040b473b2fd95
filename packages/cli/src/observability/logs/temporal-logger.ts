import type { LogLevel as TemporalLevel, LogMetadata, Logger } from '@temporalio/common';
import type { Log, LogFields, LogLevel } from 'temporal-file-conversion/internal/shared/log';
import { jobFailedMessage } from 'temporal-file-conversion/internal/shared/log';
import { codeOf, detailsOf, toLoggedError } from './logged-error';

/** When an event happened, in nanoseconds: the SDK keeps lines for a moment to bring them into their order. */
const timestamp = Symbol.for('log_timestamp');

/**
 * What the Temporal SDK, its native part, workflows and activities say, as lines of a log.
 *
 * Of their fields only ids, numbers and errors are kept: at level `trace` the SDK also shows whole activations, payloads included, which hold
 * what belongs to a job and to nobody else.
 */
export function createTemporalLogger(write: Log): Logger {
  /** Runs that have said themselves that they failed, and more than the SDK is about to say of them. */
  const toldRuns = new Set<unknown>();
  const log = (level: TemporalLevel, message: string, meta: LogMetadata = {}): void => {
    const { runId } = meta;
    if (message === jobFailedMessage) toldRuns.add(runId);
    const isTold = message === 'Workflow failed' && toldRuns.delete(runId);
    write(message, { ...fieldsOf(meta), level: isTold ? 'debug' : levels[level] });
  };
  return {
    log,
    trace: (message, meta) => log('TRACE', message, meta),
    debug: (message, meta) => log('DEBUG', message, meta),
    info: (message, meta) => log('INFO', message, meta),
    warn: (message, meta) => log('WARN', message, meta),
    error: (message, meta) => log('ERROR', message, meta),
  };
}

const levels: Readonly<Record<TemporalLevel, LogLevel>> = {
  TRACE: 'trace',
  DEBUG: 'debug',
  INFO: 'info',
  WARN: 'warn',
  ERROR: 'error',
};

/** Whoever has a task token may complete the activity. */
const dropped = new Set(['taskToken', 'isLocal']);

function fieldsOf(meta: LogMetadata): LogFields {
  const fields: Record<string, LogFields[string]> = {};
  const moment: unknown = Reflect.get(meta, timestamp);
  if (typeof moment === 'bigint') fields['time'] = new Date(Number(moment / 1_000_000n)).toISOString();
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
