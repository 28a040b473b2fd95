/** From least to most verbose, the values of `log.level` in the configuration. */
export const logLevels = ['error', 'warn', 'info', 'debug', 'trace'] as const;
export type LogLevel = (typeof logLevels)[number];

export interface LoggedError {
  readonly type: string;
  readonly message: string;
  readonly stack?: string;
  readonly cause?: LoggedError;
}

/** Fields of a log line: ids, codes, numbers. Never a token, a URL or file contents. */
export type LogFields = Readonly<Record<string, string | number | boolean | LoggedError | undefined>>;

/** Writes one log line; the default level is `info`. */
export type Log = (message: string, details?: LogFields & { level?: LogLevel }) => void;

export const jobFailedMessage = 'Job failed';
