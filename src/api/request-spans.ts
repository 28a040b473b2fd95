import type { Endpoint } from '../contract/endpoints';
import type { ClientErrorCode } from './errors';
import { classOf } from './rate-limit/endpoint-class';

/**
 * An OpenTelemetry `Tracer`, or as much of one as requests need: each of them becomes a span under the one that is active. Nothing of a trace
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

/** The span of one request. */
export interface RequestSpan {
  /** The head of an answer is in, or it is certain that none comes. */
  answered(status: number | ClientErrorCode): void;
  /** The answer has been read, or nobody wants it any more. */
  end(): void;
}

/** `SpanKind.CLIENT` and `SpanStatusCode.ERROR` of OpenTelemetry, which is not loaded for two numbers. */
const clientKind = 2;
const errorStatus = 2;

/** Begins the span of a request. Of its URL only host and port are told: the path of a download link may hold a signature. */
export function beginRequestSpan(
  tracer: RequestTracer,
  { endpoint, method, url }: { endpoint: Endpoint; method: string; url: URL },
): RequestSpan {
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
    answered(status) {
      if (typeof status === 'number') span.setAttribute('http.response.status_code', status);
      if (typeof status === 'number' && status < 400) return;
      span.setAttribute('error.type', String(status));
      span.setStatus({ code: errorStatus });
    },
    end: () => span.end(),
  };
}
