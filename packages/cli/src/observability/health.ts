import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { ConnectionLike } from '@temporalio/client';
import type { CommandContext } from '../command-context';
import { addressUnusable, closeAtOnce, listenAt } from './own-address';

/** The health endpoint of a process; undefined when the configuration names no address for it. */
export async function openHealth(
  { config }: CommandContext,
  section: 'worker' | 'service' | 'callbacks',
): Promise<HealthEndpoint | undefined> {
  const address = config.values[section].healthAddress;
  if (address === undefined) return undefined;
  try {
    return await startHealthEndpoint({ address });
  } catch (error) {
    throw addressUnusable(error, { what: 'Health', section, key: 'health_address', address });
  }
}

/** What keeps a process from taking work, in a few words; undefined when nothing does. */
type FindObstacle = () => Promise<string | undefined>;

export interface HealthEndpoint {
  /** Where it listens, without a path. */
  readonly url: string;
  /** The process has started: from now on it is ready whenever nothing stands in its way. */
  begin(findObstacle: FindObstacle): void;
  /** The process ends: it is not ready any more, whatever else is true. */
  drain(): void;
  close(): Promise<void>;
}

/**
 * Serves liveness and readiness at an address of its own. `/healthz` answers 200 as long as the process lives; `/readyz` answers 200
 * while it can take work, and 503 with the reason while it starts, drains, or lacks something that it needs. The endpoint does not
 * keep the process alive.
 *
 * @param address `127.0.0.1:9470` or `[::1]:9470`; port 0: any free one. Whether others may reach it was checked before.
 */
export async function startHealthEndpoint({ address }: { address: string }): Promise<HealthEndpoint> {
  let findObstacle: FindObstacle = () => Promise.resolve('it is starting');
  let isDraining = false;
  const server = createServer({ requestTimeout: 5_000 }, (request, response) => {
    const path = request.url?.split('?')[0];
    if (path !== '/healthz' && path !== '/readyz') {
      response.writeHead(404).end();
      return;
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.writeHead(405, { allow: 'GET, HEAD' }).end();
      return;
    }
    if (path === '/healthz') answer(response, 200, { status: 'ok' });
    else void answerReadiness(response);
  });
  server.unref();

  /** Whatever goes wrong here must not end the process. */
  async function look(): Promise<string | undefined> {
    try {
      return await findObstacle();
    } catch {
      return "it can't tell";
    }
  }

  async function answerReadiness(response: ServerResponse): Promise<void> {
    const found = await look();
    // It may have been asked to end meanwhile.
    const because = isDraining ? 'it is draining' : found;
    if (because === undefined) answer(response, 200, { status: 'ready' });
    else answer(response, 503, { status: 'notReady', because });
  }

  const url = await listenAt(server, address);
  return {
    url,
    begin(find) {
      findObstacle = find;
    },
    drain() {
      isDraining = true;
    },
    close: () => closeAtOnce(server),
  };
}

function answer(response: ServerResponse, status: number, body: Record<string, string>): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(`${JSON.stringify(body)}\n`);
}

const timeoutMs = 2_000;
const validForMs = 1_000;

/** Whether Temporal answers. It is asked at most once a second, however many probes come. */
export function createTemporalObstacle(
  connection: ConnectionLike,
  now: () => number = () => performance.now(),
): FindObstacle {
  let last: { found: Promise<string | undefined>; validUntil: number } | undefined;

  async function ask(): Promise<string | undefined> {
    try {
      await connection.withDeadline(Date.now() + timeoutMs, () => connection.workflowService.getSystemInfo({}));
      return undefined;
    } catch {
      return "Temporal can't be reached";
    }
  }

  return () => {
    if (last && now() < last.validUntil) return last.found;
    const asked = { found: ask(), validUntil: Infinity };
    void asked.found.then(() => (asked.validUntil = now() + validForMs));
    last = asked;
    return asked.found;
  };
}
