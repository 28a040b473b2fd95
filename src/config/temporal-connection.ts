import { loadClientConnectConfig } from '@temporalio/envconfig';
import type { ConnectionOptions } from '@temporalio/client';

export interface TemporalConnectionSettings {
  /** `host:port`; wins over the profile's. */
  address?: string | undefined;
  namespace?: string | undefined;
  /** A profile of Temporal's own configuration file. */
  profile?: string | undefined;
  configFile?: string | undefined;
}

/** What a client and a worker connect with. */
export interface TemporalTarget {
  /** For a client's `Connection.connect` and a worker's `NativeConnection.connect` alike. */
  connection: Pick<ConnectionOptions, 'address' | 'tls' | 'metadata'> & { apiKey?: string };
  namespace: string;
}

/**
 * Reads Temporal's own environment configuration: its TOML profiles and `TEMPORAL_*` variables, mTLS and API keys included.
 * What is given here wins.
 */
export function temporalTarget(
  settings: TemporalConnectionSettings,
  env: Readonly<Record<string, string | undefined>>,
): TemporalTarget {
  const variables = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const loaded = loadClientConnectConfig({
    overrideEnvVars: Object.fromEntries(variables),
    ...(settings.profile !== undefined && { profile: settings.profile }),
    ...(settings.configFile !== undefined && { configSource: { path: settings.configFile } }),
  });
  const { address, tls, apiKey, metadata } = loaded.connectionOptions;
  return {
    connection: {
      address: settings.address ?? address ?? '127.0.0.1:7233',
      ...(tls !== undefined && { tls }),
      ...(typeof apiKey === 'string' && { apiKey }),
      ...(metadata !== undefined && { metadata }),
    },
    namespace: settings.namespace ?? loaded.namespace ?? 'default',
  };
}
