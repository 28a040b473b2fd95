import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { ReceiverMetrics } from 'temporal-file-conversion/callbacks';
import { serveAt, type OwnAddress } from './health';

/** Metrics of the process, at a separate address: clients that send callbacks or conversions need not see them. */
export async function openMetrics(
  where: Pick<OwnAddress, 'section' | 'address'>,
): Promise<{ registry: Registry; close: () => Promise<void> }> {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const { close } = await serveAt(
    { ...where, key: 'metrics_address' },
    { '/metrics': async () => ({ status: 200, type: registry.contentType, text: await registry.metrics() }) },
  );
  return { registry, close };
}

export function createReceiverMetrics(registry: Registry): ReceiverMetrics {
  const registers = [registry];
  const answers = new Counter({
    name: 'fileconv_callbacks_total',
    help: 'Callbacks by the HTTP status they were answered with.',
    labelNames: ['status'],
    registers,
  });
  const seconds = new Histogram({
    name: 'fileconv_callback_seconds',
    help: 'From the head of a callback to the end of its answer.',
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  });
  const signals = new Counter({
    name: 'fileconv_callback_signals_total',
    help: 'Signals to jobs, by what Temporal said; duplicates of a callback share one.',
    labelNames: ['outcome'],
    registers,
  });
  // Every label starts at 0: Prometheus sees no increase in a series that begins at 1.
  for (const status of ['204', '401', '429', '503']) answers.inc({ status }, 0);
  for (const outcome of ['accepted', 'jobOver', 'refused']) signals.inc({ outcome }, 0);
  return {
    watch(inFlight) {
      new Gauge({
        name: 'fileconv_callbacks_in_flight',
        help: 'Callbacks that are worked on.',
        registers,
        collect() {
          this.set(inFlight());
        },
      });
    },
    answered(answer) {
      answers.inc({ status: String(answer.status) });
      seconds.observe(answer.seconds);
    },
    signalled: (outcome) => signals.inc({ outcome }),
  };
}
