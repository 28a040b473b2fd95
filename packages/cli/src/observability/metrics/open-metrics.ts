import type { Registry } from 'prom-client';
import type { MetricsEndpoint } from './metrics-endpoint';
import { addressUnusable } from './address-unusable';

/** A registry for the metrics of this process, and the endpoint that tells them. */
export async function openMetrics({
  section,
  address,
}: {
  /** Of the configuration, which the address comes from. */
  section: 'service' | 'callbacks';
  address: string;
}): Promise<{ registry: Registry; endpoint: MetricsEndpoint }> {
  // Here, not above: most processes tell nothing.
  const { createProcessRegistry } = await import('./process-registry.js');
  const { startMetricsEndpoint } = await import('./metrics-endpoint.js');
  const registry = createProcessRegistry();
  try {
    return { registry, endpoint: await startMetricsEndpoint({ address, registry }) };
  } catch (error) {
    throw addressUnusable(error, { what: 'Metrics', section, key: 'metrics_address', address });
  }
}
