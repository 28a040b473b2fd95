import type * as Prometheus from 'prom-client';
import type { KnownErrorCode } from 'temporal-file-conversion/contract';

export type ServiceMetrics = ReturnType<typeof createServiceMetrics>;

const codeOfSuccess = 'none';

/** Metrics of a service in `registry`. No label holds an app, a file or anything that a caller may choose. */
export function createServiceMetrics(registry: Prometheus.Registry) {
  // Loaded lazily, because most services have no metrics.
  const { Counter, Gauge, Histogram } = require('prom-client') as typeof Prometheus;
  const registers = [registry];
  const requests = new Counter({
    name: 'fileconv_service_requests_total',
    help: 'Requests by endpoint and HTTP status.',
    labelNames: ['endpoint', 'status'],
    registers,
  });
  const requestSeconds = new Histogram({
    name: 'fileconv_service_request_seconds',
    help: 'From the head of a request to the end of its answer.',
    labelNames: ['endpoint'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    registers,
  });
  const conversions = new Counter({
    name: 'fileconv_service_conversions_total',
    help: 'Conversions that are completed, by error code.',
    labelNames: ['code'],
    registers,
  });
  const conversionSeconds = new Histogram({
    name: 'fileconv_service_conversion_seconds',
    help: 'How long an engine worked on a conversion.',
    buckets: [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300],
    registers,
  });
  const callbacks = new Counter({
    name: 'fileconv_service_callbacks_total',
    help: 'Attempts to deliver a callback, by what became of them.',
    labelNames: ['outcome'],
    registers,
  });
  // Present from the start: to Prometheus, a counter that first appears at 1 has not grown.
  conversions.inc({ code: codeOfSuccess }, 0);
  for (const outcome of ['delivered', 'retried', 'failed']) callbacks.inc({ outcome }, 0);
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  return {
    /** The values are read at every scrape. */
    watch({ waiting, converting, storedBytes }: Record<'waiting' | 'converting' | 'storedBytes', () => number>): void {
      gauge('fileconv_service_conversions_waiting', 'Conversions that wait for an engine.', waiting);
      gauge('fileconv_service_conversions_running', 'Conversions that an engine works on.', converting);
      gauge('fileconv_service_stored_bytes', 'Bytes of all stored files.', storedBytes);
    },
    /** `endpoint`: such as `v1/convert/file`; undefined for a path that is no endpoint. */
    answered(answer: { endpoint: string | undefined; status: number; seconds: number }): void {
      const { endpoint = 'other', status, seconds } = answer;
      requests.inc({ endpoint, status: String(status) });
      requestSeconds.observe({ endpoint }, seconds);
    },
    converted({ code, seconds }: { code: KnownErrorCode | undefined; seconds: number }): void {
      conversions.inc({ code: code ?? codeOfSuccess });
      conversionSeconds.observe(seconds);
    },
    calledBack: (outcome: 'delivered' | 'retried' | 'failed'): void => callbacks.inc({ outcome }),
  };
}
