import { ConfigError } from '../config';
import { InvalidRequestError } from '../client/job-request';

/** What a shell sees. */
export const exitCodes = {
  ok: 0,
  /** Something could not be done. */
  failed: 1,
  /** The command, its arguments, its input or the configuration is wrong; nothing was started. */
  usage: 2,
  /** Ended by Ctrl-C. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** Ends a command with one clear message. */
export class CommandError extends Error {
  override readonly name = 'CommandError';

  constructor(
    message: string,
    readonly exitCode: ExitCode = exitCodes.failed,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

export function usageError(message: string): CommandError {
  return new CommandError(message, exitCodes.usage);
}

export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CommandError) return error.exitCode;
  if (error instanceof ConfigError || error instanceof InvalidRequestError) return exitCodes.usage;
  return exitCodes.failed;
}
