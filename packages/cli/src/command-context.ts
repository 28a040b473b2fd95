import type { ExitCode } from './command-error';
import type { Environment } from './config/layers';
import type { LoadedConfig } from './config/load-config';
import { SecretMask } from './observability/secret-mask';
import { createOutput, type Output, type OutputStream } from './output/output';

/** What every command gets from the process it runs in. */
export interface ProcessContext {
  env: Environment;
  cwd: string;
  homeDir: string;
  stdout: OutputStream;
  stderr: OutputStream;
}

export interface CommonOptions {
  json?: boolean;
  config?: string;
}

export interface CommandContext extends ProcessContext {
  output: Output;
  config: LoadedConfig;
  /** Masks secrets in logs; whoever reads a secret adds it here. */
  secrets: SecretMask;
}

export async function openContext(host: ProcessContext, options: CommonOptions): Promise<CommandContext> {
  const output = createOutput({ ...host, json: options.json === true });
  // Loaded here: neither help nor a misspelt option should wait for it.
  const { loadConfig } = await import('./config/load-config.js');
  const config = await loadConfig({ cwd: host.cwd, env: host.env, file: options.config });
  for (const warning of config.warnings) output.warn(warning);
  return { ...host, output, config, secrets: new SecretMask() };
}

export type Runner = (options: CommonOptions, run: (context: CommandContext) => Promise<ExitCode>) => Promise<void>;
