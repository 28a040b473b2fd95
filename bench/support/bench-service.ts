import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type StartedChild, startChild } from './child-process';

/** A service in a process of its own. */
export interface BenchService extends StartedChild {
  readonly baseUrl: string;
}

/** Starts a program whose first word is its port. */
export async function startService(program: string, options?: unknown): Promise<BenchService> {
  const child = await startChild(program, options);
  return { ...child, baseUrl: `http://127.0.0.1:${String(child.first)}` };
}

/** For such a program. */
export async function listen(listener: RequestListener): Promise<number> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}
