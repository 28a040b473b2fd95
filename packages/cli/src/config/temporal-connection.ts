import { loadClientConnectConfig } from '@temporalio/envconfig';
import type { ConnectionOptions } from '@temporalio/client';
import { shellWord, systemErrorCode, whyUnreadable } from 'temporal-file-conversion/messages';
import { ConfigError } from './errors';
import type { Environment } from './sources';
import type { LoadedConfig } from './load-config';

export interface TemporalPlace {
  address: string;
  namespace: string;
}

export interface TemporalTarget {
  /** For a client's `Connection.connect` and a worker's `NativeConnection.connect` alike. */
  connection: Pick<ConnectionOptions, 'tls' | 'metadata'> & { address: string; apiKey?: string };
  namespace: string;
  /** Whether the user named a Temporal, by address or profile. Otherwise this machine's is used. */
  isNamed: boolean;
}

/**
 * Reads Temporal's own environment configuration: its TOML profiles and `TEMPORAL_*` variables, including mTLS and API keys.
 * Our own configuration overrides it.
 * @throws ConfigError if it can't be read.
 */
export function temporalTarget({ config, env }: { config: LoadedConfig; env: Environment }): TemporalTarget {
  const settings = config.values.temporal;
  const loaded = load(env);
  const { address, tls, apiKey, metadata } = loaded.connectionOptions;
  return {
    connection: {
      address: settings.address ?? address ?? '127.0.0.1:7233',
      ...(tls !== undefined && { tls }),
      ...(typeof apiKey === 'string' && { apiKey }),
      ...(metadata !== undefined && { metadata }),
    },
    namespace: settings.namespace ?? loaded.namespace ?? 'default',
    isNamed: Boolean(settings.address ?? address ?? env['TEMPORAL_PROFILE']),
  };
}

/** A command line for this Temporal. The `temporal` command reads keys and certificates from the same variables and profile. */
export function temporalCommand({ address, namespace }: TemporalPlace, command: string): string {
  return `temporal ${command} --address ${address} --namespace ${shellWord(namespace)}`;
}

/** Gives new work to the workers of a build; without one, to those without a version. */
export function makeCurrentCommand(place: TemporalPlace, deploymentName: string, buildId: string | undefined): string {
  const version = buildId === undefined ? '--unversioned' : `--build-id ${shellWord(buildId)}`;
  const options = `--deployment-name ${shellWord(deploymentName)} ${version}`;
  return temporalCommand(place, `worker deployment set-current-version ${options}`);
}

function load(env: Environment) {
  // An empty variable counts as unset.
  const variables = Object.entries(env).filter((entry): entry is [string, string] => Boolean(entry[1]));
  try {
    return loadClientConnectConfig({ overrideEnvVars: Object.fromEntries(variables) });
  } catch (error) {
    // Further lines quote the file, which may hold an API key.
    const message = (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '';
    const { path: unreadable } = error as NodeJS.ErrnoException;
    const what = unreadable === undefined ? '' : `${unreadable}: `;
    const reason = systemErrorCode(error) === undefined ? message : what + whyUnreadable(error);
    const file = env['TEMPORAL_CONFIG_FILE'];
    const where = file ? `Temporal's configuration file ${file}` : "Temporal's own configuration file";
    const problem = `Temporal's own configuration can't be used: ${reason}; correct ${where}, or the variables TEMPORAL_*`;
    throw new ConfigError([problem], { cause: error });
  }
}
