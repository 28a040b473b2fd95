import { collectDefaultMetrics, Registry } from 'prom-client';

/** A registry that tells of this process already: memory, CPU, event loop. */
export function createProcessRegistry(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry;
}
