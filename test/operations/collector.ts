import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';

const attribute = z.object({ key: z.string(), value: z.record(z.string(), z.unknown()) });
const span = z.looseObject({
  traceId: z.string(),
  spanId: z.string(),
  parentSpanId: z.string().optional(),
  name: z.string(),
  kind: z.number(),
  attributes: z.array(attribute),
  status: z.looseObject({ code: z.number() }),
});
const request = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.looseObject({ attributes: z.array(attribute) }),
      scopeSpans: z.array(z.looseObject({ spans: z.array(span) })),
    }),
  ),
});

export interface CollectedSpan {
  service: unknown;
  traceId: string;
  spanId: string;
  parentSpanId: string | undefined;
  name: string;
  kind: number;
  attributes: Record<string, unknown>;
  statusCode: number;
}

/** Takes spans by OTLP over HTTP, as JSON. */
export interface Collector {
  url: string;
  spans: CollectedSpan[];
  /** Everything that was sent, as it came. */
  received(): string;
  close(): Promise<void>;
}

export async function startCollector(): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  const bodies: string[] = [];
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8');
      bodies.push(`${incoming.url} ${JSON.stringify(incoming.headers)} ${body}`);
      for (const { resource, scopeSpans } of request.parse(JSON.parse(body)).resourceSpans) {
        const service = valuesOf(resource.attributes)['service.name'];
        for (const each of scopeSpans.flatMap((scope) => scope.spans)) {
          const { traceId, spanId, name, kind, parentSpanId, status } = each;
          const attributes = valuesOf(each.attributes);
          spans.push({ service, traceId, spanId, parentSpanId, name, kind, attributes, statusCode: status.code });
        }
      }
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    received: () => bodies.join('\n'),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function valuesOf(attributes: z.infer<typeof attribute>[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
