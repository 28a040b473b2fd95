/** From the rarest to the most talkative, as `log.level` of the configuration has them. */
export const logLevels = ['error', 'warn', 'info', 'debug', 'trace'] as const;
export type LogLevel = (typeof logLevels)[number];

/** An error as a line of the log tells it. */
export interface LoggedError {
  readonly type: string;
  readonly message: string;
  readonly stack?: string;
  readonly cause?: LoggedError;
}

/** What a line says beside its message: ids, codes, numbers. Never a token, a URL or what is in a file. */
export type LogFields = Readonly<Record<string, string | number | boolean | LoggedError | undefined>>;

/** Writes one line of the log; without a level it is `info`. */
export type Log = (message: string, details?: LogFields & { level?: LogLevel }) => void;

/** The line of a job that failed. */
export const jobFailedMessage = 'Job failed';
