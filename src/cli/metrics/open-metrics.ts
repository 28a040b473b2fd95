import type { Registry } from 'prom-client';
import type { MetricsEndpoint } from '../../metrics/metrics-endpoint';
import { systemErrorCode } from '../../shared/system-error';
import { CommandError } from '../command-error';

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
  const { createProcessRegistry } = await import('../../metrics/process-registry.js');
  const { startMetricsEndpoint } = await import('../../metrics/metrics-endpoint.js');
  const registry = createProcessRegistry();
  try {
    return { registry, endpoint: await startMetricsEndpoint({ address, registry }) };
  } catch (error) {
    const variable = `FILECONV_${section.toUpperCase()}_METRICS_ADDRESS`;
    const reason =
      systemErrorCode(error) === 'EADDRINUSE'
        ? `Another program listens on ${address}`
        : `Metrics can't be told at ${address} (${systemErrorCode(error) ?? 'unknown error'})`;
    const problem = `${reason}. Give them another address (${variable}), or leave ${section}.metrics_address out.`;
    throw new CommandError('SERVICE_UNUSABLE', [problem], { cause: error });
  }
}
