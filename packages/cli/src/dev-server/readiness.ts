import { Connection } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

interface Readiness {
  address: string;
  namespace: string;
  /** Registered if they are not: name and type, for example `Keyword`. */
  searchAttributes: Readonly<Record<string, string>>;
}

const probeDelayMs = 20;
const callTimeoutMs = 5_000;

const { IndexedValueType } = temporal.api.enums.v1;

/** Resolves when the server answers gRPC and the namespace with its search attributes is there. */
export async function untilReady(wanted: Readiness, signal: AbortSignal): Promise<void> {
  // gRPC waits a second before it tries a refused port again; a bare TCP probe notices the listener at once.
  while (!(await accepts(wanted.address))) await sleep(probeDelayMs, undefined, { signal });
  signal.throwIfAborted();
  // Lazy, because what listens there may be anything, and `connect` cannot be given up while it waits.
  const connection = Connection.lazy({ address: wanted.address });
  try {
    await connection.withAbortSignal(signal, async () => {
      while (!(await knowsNamespace(connection, wanted.namespace))) await sleep(probeDelayMs, undefined, { signal });
      await registerMissing(connection, wanted, signal);
    });
  } finally {
    await connection.close();
  }
}

export async function answers(address: string, namespace: string, timeoutMs: number): Promise<boolean> {
  try {
    await untilReady({ address, namespace, searchAttributes: {} }, AbortSignal.timeout(timeoutMs));
    return true;
  } catch {
    return false;
  }
}

async function knowsNamespace(connection: Connection, namespace: string): Promise<boolean> {
  try {
    await connection.withDeadline(Date.now() + callTimeoutMs, () =>
      connection.workflowService.describeNamespace({ namespace }),
    );
    return true;
  } catch {
    // The port opens a moment before the services behind it do. The caller's deadline ends this.
    return false;
  }
}

/** The CLI registers attributes only when it makes the database; one that a later version needs is added here. */
async function registerMissing(connection: Connection, wanted: Readiness, signal: AbortSignal): Promise<void> {
  const { namespace } = wanted;
  if (Object.keys(wanted.searchAttributes).length === 0) return;
  const missing = async () => {
    const known = await connection.withDeadline(Date.now() + callTimeoutMs, () =>
      connection.operatorService.listSearchAttributes({ namespace }),
    );
    return Object.entries(wanted.searchAttributes).filter(([name]) => !(name in known.customAttributes));
  };
  const toAdd = await missing();
  if (toAdd.length === 0) return;
  const types = toAdd.map(([name, type]): [string, number] => {
    const spelling = `INDEXED_VALUE_TYPE_${type.replace(/\B[A-Z]/g, '_$&').toUpperCase()}`;
    const value = IndexedValueType[spelling as keyof typeof IndexedValueType] as number | undefined;
    if (value === undefined) throw new Error(`${type} is no type of a search attribute (${name})`);
    return [name, value];
  });
  await connection.withDeadline(Date.now() + callTimeoutMs, () =>
    connection.operatorService.addSearchAttributes({ namespace, searchAttributes: Object.fromEntries(types) }),
  );
  while ((await missing()).length > 0) await sleep(probeDelayMs, undefined, { signal });
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
