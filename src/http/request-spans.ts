import type { Endpoint } from '../contract/endpoints';
import type { ClientErrorCode } from './errors';
import { classOf } from './rate-limit/endpoint-class';

/**
 * The part of an OpenTelemetry `Tracer` that requests need: each becomes a span under the active one. No trace context
 * is sent to the service.
 */
export interface RequestTracer {
  startSpan(
    name: string,
    options: { kind: number; attributes: Record<string, string | number> },
  ): {
    setAttribute(name: string, value: string | number): unknown;
    setStatus(status: { code: number; message?: string }): unknown;
    end(): void;
  };
}

/** OpenTelemetry's `SpanKind.CLIENT` and `SpanStatusCode.ERROR`; the package is not loaded for two numbers. */
const clientKind = 2;
const errorStatus = 2;

/** Starts the span of a request, with only host and port of its URL: a download link's path may hold a signature. */
export function beginRequestSpan(
  tracer: RequestTracer,
  { endpoint, method, url }: { endpoint: Endpoint; method: string; url: URL },
) {
  const port = url.port === '' ? (url.protocol === 'http:' ? 80 : 443) : Number(url.port);
  const span = tracer.startSpan(`${method} ${endpoint}`, {
    kind: clientKind,
    attributes: {
      'http.request.method': method,
      'server.address': url.hostname,
      'server.port': port,
      'fileconv.endpoint': endpoint,
      'fileconv.endpoint_class': classOf(endpoint),
    },
  });
  return {
    /** Response headers have arrived, or certainly won't. */
    answered(status: number | ClientErrorCode): void {
      if (typeof status === 'number') span.setAttribute('http.response.status_code', status);
      if (typeof status === 'number' && status < 400) return;
      span.setAttribute('error.type', String(status));
      span.setStatus({ code: errorStatus });
    },
    end: () => span.end(),
  };
}
