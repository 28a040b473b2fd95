import type { ExitCode } from './exit';
import { exitCodes } from './exit';
import { printable } from './terminal-text';

/** What can be wrong with a command, and what the shell is told then. The codes are part of `--json`: they never change. */
const exitCodeOf = {
  USAGE: exitCodes.usage,
  INPUT_UNUSABLE: exitCodes.usage,
  DESTINATION_UNUSABLE: exitCodes.usage,
  FORMAT_UNUSABLE: exitCodes.usage,
  UNKNOWN_APP: exitCodes.usage,
  ORIGIN_NOT_ALLOWED: exitCodes.usage,
  ACCOUNT_REFUSED: exitCodes.failed,
  SERVICE_UNREACHABLE: exitCodes.failed,
  SERVICE_UNUSABLE: exitCodes.failed,
  TEMPORAL_UNREACHABLE: exitCodes.failed,
  STACK_RUNNING: exitCodes.failed,
  STACK_FAILED: exitCodes.failed,
  STATE_UNUSABLE: exitCodes.failed,
  BATCH_FAILED: exitCodes.failed,
  JOB_STATE: exitCodes.failed,
  INTERRUPTED: exitCodes.interrupted,
} as const satisfies Record<string, ExitCode>;

export type CommandErrorCode = keyof typeof exitCodeOf;

/** Ends a command; says in one line for each problem what is wrong, where, and what to type next. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: ExitCode;
  readonly problems: readonly string[];

  constructor(
    readonly code: CommandErrorCode,
    problems: readonly [string, ...string[]],
    options?: ErrorOptions,
  ) {
    const lines = problems.map(printable);
    super(lines.join('\n'), options);
    this.problems = lines;
    this.exitCode = exitCodeOf[code];
  }
}

/** Of a command that was asked to end before it had begun anything. */
export function interrupted(cause: unknown): CommandError {
  return new CommandError('INTERRUPTED', ['Interrupted before any job was started.'], { cause });
}

/** Throws when there is any problem. */
export function throwIfAny(code: CommandErrorCode, problems: readonly string[]): void {
  const [first, ...others] = problems;
  if (first !== undefined) throw new CommandError(code, [first, ...others]);
}
