import type { Command } from 'commander';
import type { ExitCode } from './command-error';
import type { Environment } from './config/layers';
import type { LoadedConfig } from './config/load-config';
import { SecretMask } from './observability/secret-mask';
import { createOutput } from './output/output';
import type { Output, OutputStream } from './output/output';

/** What every command gets from the process it runs in. */
export interface ProcessContext {
  env: Environment;
  cwd: string;
  homeDir: string;
  stdout: OutputStream;
  stderr: OutputStream;
}

/** Options that every command knows. */
export interface CommonOptions {
  json?: boolean;
  config?: string;
}

export interface CommandContext extends ProcessContext {
  output: Output;
  config: LoadedConfig;
  /** What no line of a log may hold; whoever reads a secret tells it. */
  secrets: SecretMask;
}

/** Reads the configuration and settles where output goes. */
export async function openContext(host: ProcessContext, options: CommonOptions): Promise<CommandContext> {
  const output = createOutput({ ...host, json: options.json === true });
  // Here, not above: neither help nor a misspelt option should wait for it to load.
  const { loadConfig } = await import('./config/load-config.js');
  const config = await loadConfig({ cwd: host.cwd, env: host.env, file: options.config });
  for (const warning of config.warnings) output.warn(warning);
  return { ...host, output, config, secrets: new SecretMask() };
}

/** Runs a command with what its common options stand for. */
export type Runner = (options: CommonOptions, run: (context: CommandContext) => Promise<ExitCode>) => Promise<void>;

/** What the folders of commands build theirs with. */
export interface CommandTools {
  common: (command: Command) => Command;
  examples: (...lines: string[]) => string;
  run: Runner;
}
