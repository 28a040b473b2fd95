import { createServer } from 'node:http';
import type { Registry } from 'prom-client';
import { addressUnusable, closeAtOnce, listenAt } from './own-address';

/** A registry for the metrics of this process, and the endpoint that tells them. */
export async function openMetrics({
  section,
  address,
}: {
  /** Of the configuration, which the address comes from. */
  section: 'service' | 'callbacks';
  address: string;
}): Promise<{ registry: Registry; endpoint: MetricsEndpoint }> {
  // Loaded here: most processes serve no metrics.
  const { createProcessRegistry } = await import('./registries.js');
  const registry = createProcessRegistry();
  try {
    return { registry, endpoint: await startMetricsEndpoint({ address, registry }) };
  } catch (error) {
    throw addressUnusable(error, { what: 'Metrics', section, key: 'metrics_address', address });
  }
}

interface MetricsEndpoint {
  /** Of the page with the metrics. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Serves a registry at `/metrics` of an address of its own, so that those who may send callbacks or conversions need not see it.
 *
 * @param address `127.0.0.1:9465` or `[::1]:9465`; port 0: any free one. Whether others may reach it was checked before.
 */
async function startMetricsEndpoint({
  address,
  registry,
}: {
  address: string;
  registry: Registry;
}): Promise<MetricsEndpoint> {
  const server = createServer((request, response) => {
    if (request.url?.split('?')[0] !== '/metrics') {
      response.writeHead(404).end();
      return;
    }
    if (request.method !== 'GET') {
      response.writeHead(405, { allow: 'GET' }).end();
      return;
    }
    void registry.metrics().then(
      (text) => response.writeHead(200, { 'content-type': registry.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  });
  const url = await listenAt(server, address);
  return { url: `${url}/metrics`, close: () => closeAtOnce(server) };
}
