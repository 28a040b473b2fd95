import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { registerSearchAttributes } from 'temporal-file-conversion/client';
import { lengthenRetention } from './retention';

const probeDelayMs = 20;
const callTimeoutMs = 5_000;

/** See `untilReady`; the server listens already. */
export async function untilUsable(address: string, namespace: string, signal: AbortSignal): Promise<void> {
  // Lazy, because anything may listen there, and a waiting `connect` can't be aborted.
  // No proxy, which gRPC would use even for this machine.
  const connection = Connection.lazy({ address, channelArgs: { 'grpc.enable_http_proxy': 0 } });
  try {
    await connection.withAbortSignal(signal, async () => {
      while (!(await knowsNamespace(connection, namespace))) await sleep(probeDelayMs, undefined, { signal });
      await registerSearchAttributes(new Client({ connection, namespace }));
      const { workflowService } = connection;
      await connection.withDeadline(Date.now() + callTimeoutMs, () =>
        lengthenRetention({ workflowService, namespace }),
      );
    });
  } finally {
    await connection.close();
  }
}

async function knowsNamespace(connection: Connection, namespace: string): Promise<boolean> {
  try {
    await connection.withDeadline(Date.now() + callTimeoutMs, () =>
      connection.workflowService.describeNamespace({ namespace }),
    );
    return true;
  } catch {
    // The port opens a moment before the services behind it. The caller's deadline bounds the retries.
    return false;
  }
}
