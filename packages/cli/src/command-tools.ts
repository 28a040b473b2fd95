import type { Command } from 'commander';
import type { CommandContext, CommonOptions } from './command-context';
import type { ExitCode } from './exit';

/** Runs a command with what its common options stand for. */
export type Runner = (options: CommonOptions, run: (context: CommandContext) => Promise<ExitCode>) => Promise<void>;

/** What the folders of commands build theirs with. */
export interface CommandTools {
  common: (command: Command) => Command;
  examples: (...lines: string[]) => string;
  run: Runner;
}
