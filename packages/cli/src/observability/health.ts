import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ConnectionLike } from '@temporalio/client';
import { systemErrorCode } from 'temporal-file-conversion/messages';
import type { CommandContext } from '../command-context';
import { CommandError } from '../command-error';

export interface OwnAddress {
  /** Section of the configuration that the address comes from. */
  section: 'worker' | 'service' | 'callbacks';
  key: 'metrics_address' | 'health_address';
  /** `127.0.0.1:9465` or `[::1]:9465`; port 0: any free one. Loading the configuration has checked whether it may be public. */
  address: string;
}

interface Answer {
  status: number;
  type: string;
  text: string;
}

/**
 * @param routes answers to GET by path; a rejection becomes HTTP 500.
 * @throws CommandError that says which key to change if the process can't listen there.
 */
export async function serveAt(
  { section, key, address }: OwnAddress,
  routes: Readonly<Record<string, () => Promise<Answer>>>,
): Promise<{ server: Server; url: string; close: () => Promise<void> }> {
  const { hostname, port } = new URL(`http://${address}`);
  const server = createServer({ requestTimeout: 5_000 }, ({ url, method }, response) => {
    const route = routes[url?.split('?')[0] ?? ''];
    if (!route) response.writeHead(404).end();
    else if (method !== 'GET' && method !== 'HEAD') response.writeHead(405, { allow: 'GET, HEAD' }).end();
    else {
      void route().then(
        ({ status, type, text }) =>
          response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(text),
        () => response.writeHead(500).end(),
      );
    }
  });
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      // A URL drops its default port 80.
      server.listen({ host: hostname.replace(/[[\]]/g, ''), port: port === '' ? 80 : Number(port) }, resolve);
    });
  } catch (error) {
    const reason =
      systemErrorCode(error) === 'EADDRINUSE'
        ? `Something else is listening on ${address}`
        : `${key === 'health_address' ? 'Health' : 'Metrics'} can't be served at ${address} (${systemErrorCode(error) ?? 'unknown error'})`;
    const variable = `FILECONV_${section}_${key}`.toUpperCase();
    const problem = `${reason}. Give this process another address (${variable}), or leave ${section}.${key} out.`;
    throw new CommandError('SERVICE_UNUSABLE', [problem], { cause: error });
  }
  const { port: bound } = server.address() as AddressInfo;
  return {
    server,
    url: `http://${hostname}:${bound}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        // Scrapers simply retry.
        server.closeAllConnections();
      }),
  };
}

export async function openHealth(
  { config }: CommandContext,
  section: OwnAddress['section'],
): Promise<HealthEndpoint | undefined> {
  const address = config.values[section].healthAddress;
  return address === undefined ? undefined : startHealthEndpoint({ section, address });
}

/** What keeps a process from taking work, in a few words; undefined if nothing does. */
type FindObstacle = () => Promise<string | undefined>;

export interface HealthEndpoint {
  readonly url: string;
  begin(findObstacle: FindObstacle): void;
  drain(): void;
  close(): Promise<void>;
}

/**
 * Liveness and readiness: `/readyz` answers 503 with the reason while the process starts, drains, or lacks a dependency.
 * The endpoint does not keep the process alive.
 */
export async function startHealthEndpoint(where: Pick<OwnAddress, 'section' | 'address'>): Promise<HealthEndpoint> {
  let findObstacle: FindObstacle = () => Promise.resolve('it is starting');
  let isDraining = false;
  const { server, url, close } = await serveAt(
    { ...where, key: 'health_address' },
    {
      '/healthz': () => Promise.resolve(inJson(200, { status: 'ok' })),
      async '/readyz'() {
        // An error in a probe must not end the process.
        const found = await Promise.resolve()
          .then(findObstacle)
          .catch(() => "it can't tell");
        // Draining may have begun meanwhile.
        const because = isDraining ? 'it is draining' : found;
        if (because === undefined) return inJson(200, { status: 'ready' });
        return inJson(503, { status: 'notReady', because });
      },
    },
  );
  server.unref();
  return {
    url,
    begin: (find) => (findObstacle = find),
    drain: () => (isDraining = true),
    close,
  };
}

function inJson(status: number, body: Record<string, string>): Answer {
  return { status, type: 'application/json', text: `${JSON.stringify(body)}\n` };
}

const timeoutMs = 2_000;
const validForMs = 1_000;

/** Whether Temporal answers. Asks at most once a second, however many probes come. */
export function createTemporalObstacle(connection: ConnectionLike): FindObstacle {
  let last: { found: Promise<string | undefined>; validUntil: number } | undefined;
  const ask = () =>
    connection
      .withDeadline(Date.now() + timeoutMs, () => connection.workflowService.getSystemInfo({}))
      .then(() => undefined)
      .catch(() => "Temporal can't be reached");

  return () => {
    if (last && performance.now() < last.validUntil) return last.found;
    const asked = { found: ask(), validUntil: Infinity };
    void asked.found.then(() => (asked.validUntil = performance.now() + validForMs));
    last = asked;
    return asked.found;
  };
}
