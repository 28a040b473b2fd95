// A Temporal server whose four services are one process, on PostgreSQL.

/** Ports that the server needs besides the one of its clients, by their names in `ports`. */
export const temporalPorts = [
  'frontend',
  'frontendHttp',
  'frontendMembers',
  'history',
  'historyMembers',
  'matching',
  'matchingMembers',
  'system',
  'systemMembers',
];

/** The server's configuration file. */
export function temporalConfig({ host, ports, postgres, user }) {
  const store = (database) => ({
    sql: {
      pluginName: 'postgres12',
      databaseName: database,
      connectAddr: postgres,
      connectProtocol: 'tcp',
      user,
      password: 'unused',
      maxConns: 20,
      maxIdleConns: 20,
      maxConnLifetime: '1h',
    },
  });
  const service = (grpcPort, membershipPort, more) => ({
    rpc: { grpcPort, membershipPort, bindOnIP: host, ...more },
  });
  return {
    log: { stdout: true, level: 'warn' },
    persistence: {
      defaultStore: 'default',
      visibilityStore: 'visibility',
      numHistoryShards: 4,
      datastores: { default: store('temporal'), visibility: store('temporal_visibility') },
    },
    global: { membership: { maxJoinDuration: '30s', broadcastAddress: host } },
    services: {
      frontend: service(ports.frontend, ports.frontendMembers, { httpPort: ports.frontendHttp }),
      matching: service(ports.matching, ports.matchingMembers),
      history: service(ports.history, ports.historyMembers),
      worker: service(ports.system, ports.systemMembers),
    },
    clusterMetadata: {
      enableGlobalNamespace: false,
      failoverVersionIncrement: 10,
      masterClusterName: 'active',
      currentClusterName: 'active',
      clusterInformation: {
        active: {
          enabled: true,
          initialFailoverVersion: 1,
          rpcName: 'frontend',
          rpcAddress: `${host}:${ports.frontend}`,
        },
      },
    },
    dcRedirectionPolicy: { policy: 'noop' },
    dynamicConfigClient: { filepath: 'dynamic-config.yaml', pollInterval: '1m' },
  };
}
