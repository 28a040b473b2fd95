import { CommanderError } from 'commander';
import { openContext, type ProcessContext } from './command-context';
import { CommandError, exitCodes, reportFailure, type ExitCode } from './command-error';
import { buildCommands } from './command-tree';
import { createOutput } from './output/output';

export async function runCommandLine(argv: readonly string[], host: ProcessContext): Promise<ExitCode> {
  let exitCode: ExitCode = exitCodes.ok;
  // Read before the options are parsed: an error about them honours --json too.
  const options = argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv;
  const output = createOutput({ ...host, json: options.includes('--json') });
  const program = buildCommands(output, async (commonOptions, run) => {
    exitCode = await run(await openContext(host, commonOptions));
  });
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return exitCode;
  } catch (error) {
    if (!(error instanceof CommanderError)) return reportFailure(output, error);
    if (error.exitCode === 0) return exitCodes.ok;
    const commands = program.commands.map((command) => command.name());
    return reportFailure(output, usageProblem(error, options, commands));
  }
}

function usageProblem(error: CommanderError, argv: readonly string[], commands: readonly string[]): CommandError {
  const command = commands.find((name) => argv[0] === name);
  const help = `fileconv ${command === undefined ? '' : `${command} `}--help`;
  const complaint =
    error.code === 'commander.help'
      ? 'no command was named.'
      : error.message
          .replace(/^error: /, '')
          .replace(/\s*\n\s*/g, ' ')
          .replace(/[^.?)]$/, '$&.');
  return new CommandError('USAGE', [`${complaint} See: ${help}`], { cause: error });
}
