import { ConfigError } from '../config/errors';
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
  const { code } = (error ?? {}) as { code?: unknown };
  return {
    code: typeof code === 'string' ? code : 'UNEXPECTED',
    problems: [error instanceof Error ? error.message : String(error)],
    exitCode: exitCodes.failed,
  };
}
