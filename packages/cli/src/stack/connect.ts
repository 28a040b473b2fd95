import { setMaxListeners } from 'node:events';
import { Client, Connection, type ConnectionOptions } from '@temporalio/client';
import { aliveWorkers } from 'temporal-file-conversion/client';
import type { CommandContext } from '../command-context';
import { CommandError } from '../command-error';
import type { TemporalTarget } from '../config/temporal-connection';
import { openDataConverter } from '../keys/encryption';
import { isAlive } from '../process/asked-to-end';
import { retriesThatEndQuietly } from './quiet-retries';
import type { StackRecord } from './stack-record';

/** A Temporal that a command uses, whoever runs it. */
export interface StackInUse {
  client: Client;
  taskQueue: string;
  address: string;
  namespace: string;
  /** A stack on this machine runs it. */
  isLocal: boolean;
  /** Base URL of the Temporal UI, without a trailing slash; undefined if unknown. */
  uiUrl?: string | undefined;
  /** Whether unfinished jobs continue when this command ends. */
  outlivesCommand: boolean;
  /** Runs requests to Temporal. `close` aborts those in flight, such as a wait for a job's result. */
  untilClosed<T>(run: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

const connectTimeoutMs = 10_000;
/** For a stack whose process is alive: the machine is only busy. */
const busyConnectTimeoutMs = 20_000;

/**
 * Connects to a Temporal.
 * @param rest.stack The stack that runs it, according to its record; it may have been killed since.
 * @throws CommandError `TEMPORAL_UNREACHABLE`
 */
export async function connect(
  context: CommandContext,
  target: TemporalTarget,
  { taskQueue, stack }: { taskQueue: string; stack?: StackRecord | undefined },
): Promise<StackInUse> {
  const dataConverter = await openDataConverter(context);
  const isThere = stack !== undefined && isAlive(stack.pid);
  const connection = await Connection.connect({
    ...connectionOptions(context, target),
    connectTimeout: isThere ? busyConnectTimeoutMs : connectTimeoutMs,
  }).catch((error: unknown) => {
    const message = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
    throw unreachable(context, target, { stack, error, reason: message.includes('deadline') ? '' : message });
  });
  const { namespace, isNamed } = target;
  const { address } = target.connection;
  const client = new Client({ connection, namespace, dataConverter });
  const running = new Set<AbortController>();
  const cloudUi = isTemporalCloud(address) ? 'https://cloud.temporal.io' : undefined;
  return {
    client,
    taskQueue,
    address,
    namespace,
    isLocal: !isNamed,
    uiUrl: context.config.values.temporal.uiUrl ?? stack?.temporal.uiUrl ?? cloudUi,
    outlivesCommand: true,
    async untilClosed(run) {
      const ending = new AbortController();
      // The SDK adds a listener for each request and removes none; long-running work gets an `untilClosed` of its own.
      setMaxListeners(0, ending.signal);
      running.add(ending);
      try {
        return await connection.withAbortSignal(ending.signal, run);
      } finally {
        // Aborts requests that nobody awaits any more, such as for a job's result.
        ending.abort();
        running.delete(ending);
      }
    },
    async close() {
      // A request that outlives its connection would be retried when the server ends, and throw an uncaught error.
      for (const ending of running) ending.abort();
      await connection.close();
    },
  };
}

/** Whether a worker polls the task queue. */
export async function hasWorker({ client, taskQueue }: StackInUse): Promise<boolean> {
  return (await aliveWorkers(client, taskQueue)).length > 0;
}

/** Connection options of a command, which may close its connection while Temporal is away. */
export function connectionOptions(
  { env }: Pick<CommandContext, 'env'>,
  { connection }: TemporalTarget,
): ConnectionOptions {
  return {
    ...connection,
    // gRPC would use the HTTPS proxy; only `grpc_proxy` asks for one.
    channelArgs: env['grpc_proxy'] ? {} : { 'grpc.enable_http_proxy': 0 },
    interceptors: retriesThatEndQuietly(),
  };
}

export function isTemporalCloud(address: string): boolean {
  return /\.(tmprl\.cloud|api\.temporal\.io)(:\d+)?$/.test(address);
}

/** @param rest.reason Empty if unknown. */
export function unreachable(
  { config }: CommandContext,
  { connection, isNamed }: TemporalTarget,
  { stack, error, reason }: { stack?: StackRecord | undefined; error: unknown; reason: string },
): CommandError {
  const { dir } = config.values.state;
  const whatToDo = isNamed
    ? `Start it there or correct the address (TEMPORAL_ADDRESS); without it, the stack of this folder is used. ${adviceOnTls(connection.tls)}`
    : stack && isAlive(stack.pid)
      ? `The stack of ${dir} runs as process ${stack.pid} and does not answer. If that lasts, end it with Ctrl-C there, and start it again: fileconv up`
      : `The stack of ${dir} was ended from outside. Start it again: fileconv up`;
  const problem = `Temporal can't be reached at ${connection.address}${reason && ` (${reason.replace(/\.$/, '')})`}. ${whatToDo}`;
  return new CommandError('TEMPORAL_UNREACHABLE', [problem], { cause: error });
}

/** No answer may mean that only one side uses TLS, or that one does not accept the other's certificate. */
function adviceOnTls(tls: unknown): string {
  if (!tls) return 'If it uses TLS, set TEMPORAL_TLS=true, or tls in the profile of Temporal.';
  return 'If a certificate is not accepted, set TEMPORAL_TLS_SERVER_CA_CERT_PATH (who issued the certificate of Temporal, if no public authority), TEMPORAL_TLS_SERVER_NAME (the name in it), or TEMPORAL_TLS_CLIENT_CERT_PATH with TEMPORAL_TLS_CLIENT_KEY_PATH (your own). If it does not use TLS, unset TEMPORAL_TLS and TEMPORAL_API_KEY, or turn tls off in the profile of Temporal.';
}
