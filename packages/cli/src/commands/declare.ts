import type { Command } from 'commander';
import type { CommandContext, CommonOptions, Runner } from '../command-context';
import { exitCodes, type ExitCode } from '../command-error';

/** A command that holds others. */
export function group(parent: Command, name: string, description: string, ...lines: string[]): Command {
  return parent
    .command(name)
    .description(description)
    .addHelpText('after', examples(...lines));
}

/** A command with the options that every command knows. */
export function command(parent: Command, name: string, description: string, ...lines: string[]): Command {
  const declared = parent
    .command(name)
    .description(description)
    .option('--config <file>', 'configuration file; default: fileconv.toml, if there is one')
    .option('--json', 'print one JSON document to stdout');
  return lines.length === 0 ? declared : declared.addHelpText('after', examples(...lines));
}

export function examples(...lines: string[]): string {
  return `\nExamples:\n${lines.map((line) => `  $ ${line}`).join('\n')}`;
}

/** What a command does: it gets its arguments, then its options. Without an exit code all is done. */
type CommandFunction = (context: CommandContext, ...args: never[]) => Ending;
type Ending = Promise<ExitCode> | Promise<void>;

/** The action of a command, whose function is loaded only when it runs. */
export type Act = (load: () => Promise<CommandFunction>) => (...args: unknown[]) => Promise<void>;

export function createAct(run: Runner): Act {
  return (load) =>
    (...args) => {
      // The parser adds the command itself.
      const given = args.slice(0, -1);
      const options = given.at(-1) as CommonOptions;
      return run(options, async (context) => (await (await load())(context, ...(given as never[]))) ?? exitCodes.ok);
    };
}
