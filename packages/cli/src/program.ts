import { CommanderError, type Command } from 'commander';
import { closestName } from 'temporal-file-conversion/messages';
import { openContext, type ProcessContext } from './command-context';
import { CommandError, exitCodes, reportFailure, type ExitCode } from './command-error';
import { buildCommands } from './command-tree';
import { createOutput } from './output/output';

export async function runCommandLine(argv: readonly string[], host: ProcessContext): Promise<ExitCode> {
  let exitCode: ExitCode = exitCodes.ok;
  // Read before parsing, so that errors about options honour --json too.
  const options = argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv;
  const output = createOutput({ ...host, json: options.includes('--json'), verbose: options.includes('--verbose') });
  const program = buildCommands(output, async (commonOptions, run) => {
    exitCode = await run(await openContext(host, commonOptions));
  });
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return exitCode;
  } catch (error) {
    if (!(error instanceof CommanderError)) return reportFailure(output, error);
    if (error.exitCode === 0) return exitCodes.ok;
    return reportFailure(output, usageProblem(error, options, program));
  }
}

function usageProblem(error: CommanderError, argv: readonly string[], program: Command): CommandError {
  const words = argv.filter((word) => !word.startsWith('-'));
  let command = program;
  for (const word of words) {
    const inner = command.commands.find((each) => each.name() === word);
    if (!inner) break;
    command = inner;
  }
  const names = [command, ...ancestorsOf(command)].reverse().map((each) => each.name());
  const complaint = complaintOf(error, argv, command);
  return new CommandError('USAGE', [`${complaint} See: ${names.join(' ')} --help`], { cause: error });
}

function ancestorsOf({ parent }: Command): Command[] {
  return parent ? [parent, ...ancestorsOf(parent)] : [];
}

/** Names that other tools use for our commands; by their letters, `start` would be `status`. */
const otherNames: Readonly<Record<string, string[]>> = {
  start: ['run', 'up'],
  stop: ['cancel', 'down'],
  abort: ['cancel'],
  ls: ['list'],
};

function complaintOf(error: CommanderError, argv: readonly string[], command: Command): string {
  const { options, commands } = command;
  // The parser takes an unknown command for a request for help, or for an argument too many.
  const [unnamed] = command.args.filter((word) => word !== 'help');
  const mayBeUnnamed = ['commander.unknownCommand', 'commander.help', 'commander.excessArguments'].includes(error.code);
  if (unnamed !== undefined && commands.length > 0 && mayBeUnnamed) {
    const names = commands.map((each) => each.name());
    const others = Object.hasOwn(otherNames, unnamed) ? otherNames[unnamed] : undefined;
    const like = others?.find((name) => names.includes(name)) ?? closestName(unnamed, names);
    return `unknown command '${unnamed}'${like === undefined ? '.' : ` (Did you mean ${like}?)`}`;
  }
  if (error.code === 'commander.help') return 'no command was named.';
  // The parser reports a missing option before an unknown one, which may be the same option misspelled.
  const known = options.flatMap(({ long }) => long ?? []);
  const unknown = argv
    .map((word) => word.replace(/=.*/, ''))
    .find((word) => /^--./.test(word) && !known.includes(word));
  const meant = unknown === undefined ? undefined : closestName(unknown, known);
  if (error.code === 'commander.missingMandatoryOptionValue' && meant !== undefined) {
    return `unknown option '${unknown}' (Did you mean ${meant}?)`;
  }
  const [, early = ''] = /unknown option '(--[\w-]+)'/.exec(error.message) ?? [];
  if (known.includes(early)) return `${early} stands before its command. Put it behind ${command.name()}.`;
  return error.message
    .replace(/^error: /, '')
    .replace(/^command-argument value (.*) is invalid for argument '([\w-]+)'\./s, '$1 is not a valid $2.')
    .replace(/\s*\n\s*/g, ' ')
    .replace(/[^.?)]$/, '$&.');
}
