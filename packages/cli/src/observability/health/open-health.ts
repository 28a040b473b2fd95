import type { HealthEndpoint } from './health-endpoint';
import type { CommandContext } from '../../command-context';
import { addressUnusable } from '../metrics/address-unusable';

/** The health endpoint of a process; undefined when the configuration names no address for it. */
export async function openHealth(
  { config }: CommandContext,
  section: 'worker' | 'service' | 'callbacks',
): Promise<HealthEndpoint | undefined> {
  const address = config.values[section].healthAddress;
  if (address === undefined) return undefined;
  // Here, not above: most processes tell nothing.
  const { startHealthEndpoint } = await import('./health-endpoint.js');
  try {
    return await startHealthEndpoint({ address });
  } catch (error) {
    throw addressUnusable(error, { what: 'Health', section, key: 'health_address', address });
  }
}
