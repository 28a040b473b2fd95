import { CommandError } from '../command-error';
import type { LoadedConfig } from '../config/load-config';

type Section = 'worker' | 'service' | 'callbacks' | 'codec';

interface Endpoint {
  key: string;
  host: string;
  port: number;
}

/**
 * Two endpoints of one process can't have the same address.
 * @param sections those of which the process serves the endpoints.
 * @throws CommandError that names both settings.
 */
export function refuseSharedAddresses({ values }: LoadedConfig, sections: readonly Section[]): void {
  const seen: Endpoint[] = [];
  for (const endpoint of sections.flatMap((section) => endpointsOf(section, values[section]))) {
    const other = seen.find((each) => each.port === endpoint.port && overlap(each.host, endpoint.host));
    if (other) {
      const problem = `${other.key} and ${endpoint.key} both mean ${endpoint.host}:${endpoint.port}. Give one of them another port.`;
      throw new CommandError('INPUT_UNUSABLE', [problem]);
    }
    seen.push(endpoint);
  }
}

interface Addresses {
  host?: string;
  port?: number;
  metricsAddress?: string;
  healthAddress?: string;
}

function endpointsOf(section: Section, { host = '', port = 0, ...others }: Addresses): Endpoint[] {
  const own = port === 0 ? [] : [{ key: `${section}.port`, host, port }];
  const addresses = { metrics_address: others.metricsAddress, health_address: others.healthAddress };
  const told = Object.entries(addresses).flatMap(([key, address]) => {
    if (address === undefined) return [];
    const url = new URL(`http://${address}`);
    // 80 is the port that a URL leaves out.
    return [{ key: `${section}.${key}`, host: url.hostname.replace(/[[\]]/g, ''), port: Number(url.port || 80) }];
  });
  return [...own, ...told];
}

const everyAddress = ['0.0.0.0', '::'];

function overlap(one: string, other: string): boolean {
  const [first, second] = [one, other].map((host) => (host === 'localhost' ? '127.0.0.1' : host));
  return first === second || everyAddress.includes(one) || everyAddress.includes(other);
}
