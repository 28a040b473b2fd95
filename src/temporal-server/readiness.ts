import { Connection } from '@temporalio/client';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Readiness {
  address: string;
  namespace: string;
  /** Names that must be registered. */
  searchAttributes: readonly string[];
}

const probeDelayMs = 20;

/** Resolves when the server answers gRPC and the namespace with its search attributes is there. */
export async function untilReady(wanted: Readiness, signal: AbortSignal): Promise<void> {
  // gRPC waits a second before it tries a refused port again; a bare TCP probe notices the listener at once.
  while (!(await accepts(wanted.address))) await sleep(probeDelayMs, undefined, { signal });
  signal.throwIfAborted();
  const connection = await Connection.connect({ address: wanted.address, connectTimeout: '10 seconds' });
  try {
    while (!(await knowsNamespace(connection, wanted))) await sleep(probeDelayMs, undefined, { signal });
  } finally {
    await connection.close();
  }
}

/** Whether a Temporal server answers there within `timeoutMs`. */
export async function answers(address: string, namespace: string, timeoutMs: number): Promise<boolean> {
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    await untilReady({ address, namespace, searchAttributes: [] }, signal);
    return true;
  } catch {
    return false;
  }
}

async function knowsNamespace(connection: Connection, wanted: Readiness): Promise<boolean> {
  const { namespace } = wanted;
  try {
    return await connection.withDeadline(Date.now() + 5_000, async () => {
      await connection.workflowService.describeNamespace({ namespace });
      if (wanted.searchAttributes.length === 0) return true;
      const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
      return wanted.searchAttributes.every((name) => name in customAttributes);
    });
  } catch {
    // The port opens a moment before the services behind it do. The caller's deadline ends this.
    return false;
  }
}

async function accepts(address: string): Promise<boolean> {
  const { hostname, port } = new URL(`tcp://${address}`);
  return await new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port), timeout: 1_000 });
    const settle = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => settle(true));
    socket.once('timeout', () => settle(false));
    socket.once('error', () => settle(false));
  });
}
