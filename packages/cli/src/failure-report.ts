import { ConfigError } from './config/errors';
import { CommandError } from './command-error';
import type { ExitCode } from './exit';
import { exitCodes } from './exit';
import type { Output } from './output';

interface CommandFailure {
  code: string;
  problems: readonly string[];
  exitCode: ExitCode;
}

/** Tells a person, or with `--json` a program, why the command ended. Never a stack trace. */
export function reportFailure(output: Output, error: unknown): ExitCode {
  const { code, problems, exitCode } = readFailure(error);
  for (const problem of problems) output.fail(problem);
  if (output.json) output.printJson({ error: { code, message: problems.join('\n') } });
  return exitCode;
}

function readFailure(error: unknown): CommandFailure {
  if (error instanceof CommandError) return error;
  if (error instanceof ConfigError) {
    return { code: error.code, problems: error.problems, exitCode: exitCodes.usage };
  }
  if (isOfTemporal(error)) return new CommandError('TEMPORAL_UNREACHABLE', [lostTemporal(error)], { cause: error });
  const { code } = (error ?? {}) as { code?: unknown };
  return {
    code: typeof code === 'string' ? code : 'UNEXPECTED',
    problems: [error instanceof Error ? error.message : String(error)],
    exitCode: exitCodes.failed,
  };
}

/** Told by its name: most commands never load Temporal's client. */
function isOfTemporal(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ServiceError';
}

function lostTemporal({ message, cause }: Error): string {
  const { details } = (cause ?? {}) as { details?: unknown };
  const reason = typeof details === 'string' && details !== '' ? details : message;
  return `Temporal does not answer as it should (${reason.split('\n')[0] ?? ''}). What it runs goes on when it is back. What is broken: fileconv doctor`;
}
