import type { Readable } from 'node:stream';
import type { ReadStream } from 'node:tty';
import type { ExitCode } from './command-error';
import type { Environment } from './config/sources';
import type { LoadedConfig } from './config/load-config';
import { SecretMask } from './output/secret-mask';
import { createOutput, type Output, type OutputStream } from './output/output';

export interface ProcessContext {
  env: Environment;
  cwd: string;
  homeDir: string;
  stdin: InputStream;
  stdout: OutputStream & NodeJS.WritableStream;
  stderr: OutputStream;
  process: HostProcess;
}

/** `process.stdin`, or a test's replacement. */
export type InputStream = Readable & Partial<Pick<ReadStream, 'isTTY'>>;

/** The source of signals and uncaught errors, and what ends at once. */
export interface HostProcess {
  on(event: NodeJS.Signals, listener: () => void): unknown;
  on(event: 'uncaughtException', listener: (error: Error) => void): unknown;
  once(event: NodeJS.Signals, listener: () => void): unknown;
  off(event: 'uncaughtException', listener: (error: Error) => void): unknown;
  exit(code: ExitCode): unknown;
}

export interface CommonOptions {
  json?: boolean;
  quiet?: boolean;
  verbose?: boolean;
  config?: string;
  /** For commands that only show or allow the configuration. */
  mayBeUnallowed?: boolean;
}

export interface CommandContext extends ProcessContext {
  output: Output;
  config: LoadedConfig;
  /** Masks secrets in logs; code that reads a secret must add it here. */
  secrets: SecretMask;
}

export async function openContext(host: ProcessContext, options: CommonOptions): Promise<CommandContext> {
  const { json = false, quiet = false, verbose = false } = options;
  const output = createOutput({ ...host, json, quiet, verbose });
  // Lazy: help and misspelled options should not wait for it.
  const { loadConfig } = await import('./config/load-config.js');
  const config = await loadConfig({ cwd: host.cwd, env: host.env, file: options.config });
  if (verbose) config.values.log.level = 'debug';
  for (const warning of config.warnings) output.warn(warning);
  const context = { ...host, output, config, secrets: new SecretMask() };
  if (options.mayBeUnallowed !== true) await (await import('./allowed.js')).requireAllowed(context);
  return context;
}

export type Runner = (options: CommonOptions, run: (context: CommandContext) => Promise<ExitCode>) => Promise<void>;
