import { setMaxListeners } from 'node:events';
import { Client, Connection } from '@temporalio/client';
import { shellWord, systemErrorCode } from 'temporal-file-conversion/messages';
import { lastStackFolder } from '../allowed';
import type { CommandContext } from '../command-context';
import { CommandError } from '../command-error';
import { temporalTarget, type TemporalTarget } from '../config/temporal-connection';
import { openDataConverter } from '../keys/encryption-settings';
import { isAlive } from './asked-to-end';
import { retriesThatEndQuietly } from './quiet-retries';
import { isOfStack, readLiveStack, readStackHolder, readStackRecord, type StackRecord } from './stack-record';

/** What a command needs to run jobs, whoever runs the processes behind it. */
export interface StackInUse {
  client: Client;
  taskQueue: string;
  /** Base URL of the Temporal UI, without a slash at its end; undefined when it is not known. */
  uiUrl?: string | undefined;
  /** Of the Temporal that a stack of this machine runs. */
  address?: string | undefined;
  /** Whether unfinished jobs continue when this command ends. */
  outlivesCommand: boolean;
  /** Runs requests to Temporal; those that still wait when the stack is closed, such as for a job's result, are aborted. */
  untilClosed<T>(run: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** A connection to the Temporal of this configuration, for a command that starts none. */
export interface OpenTemporal extends StackInUse {
  address: string;
  namespace: string;
  /** It is one of this machine, which a stack runs. */
  isLocal: boolean;
}

/**
 * Connects to the Temporal that runs. The caller closes it.
 * @throws CommandError `TEMPORAL_UNREACHABLE`
 */
export async function openTemporal(context: CommandContext): Promise<OpenTemporal> {
  const { values } = context.config;
  const { target, isLocal, stack } = await findTemporal(context);
  const { taskQueue } = values.worker;
  return {
    ...(await connect(context, target, { taskQueue, stack })),
    address: target.connection.address,
    namespace: target.namespace,
    isLocal,
  };
}

async function whyNoStack(context: CommandContext): Promise<string> {
  const { dir } = context.config.values.state;
  const holder = await readStackHolder(dir);
  if (holder) return `The stack of ${dir} is starting or stopping (process ${holder.pid}). Try again in a moment.`;
  const last = await lastStackFolder(context);
  const isElsewhere = last !== undefined && last !== dir && (await readLiveStack(last)) !== undefined;
  const elsewhere = isElsewhere
    ? ` One runs in ${last}: type the command in its folder, or set FILECONV_STATE_DIR=${shellWord(last)}.`
    : '';
  return `No stack runs in ${dir}. Start it (fileconv up), or name a Temporal that runs (TEMPORAL_ADDRESS).${elsewhere}`;
}

/** Runs what a command asks the Temporal that runs, and closes the connection. */
export async function withTemporal<T>(
  context: CommandContext,
  run: (temporal: OpenTemporal) => Promise<T>,
): Promise<T> {
  const temporal = await openTemporal(context);
  try {
    return await temporal.untilClosed(() => run(temporal));
  } finally {
    await temporal.close();
  }
}

/**
 * Finds the Temporal for a command that starts none: one of this machine (`isLocal`) with the stack that runs it, or somebody's own.
 * @throws CommandError `TEMPORAL_UNREACHABLE` where none is named and no stack runs: at the usual port may be that of another folder.
 */
export async function findTemporal(
  context: CommandContext,
): Promise<{ target: TemporalTarget; isLocal: boolean; stack: StackRecord | undefined }> {
  const target = temporalTarget(context);
  const stack = await readStackRecord(context.config.values.state.dir);
  if (target.isNamed) {
    const isOwn = stack !== undefined && isOfStack(stack, target.connection.address);
    return { target, isLocal: false, stack: isOwn ? stack : undefined };
  }
  if (!stack) throw new CommandError('TEMPORAL_UNREACHABLE', [await whyNoStack(context)]);
  const { address } = stack.temporal;
  return { target: { ...target, connection: { address } }, isLocal: true, stack };
}

const connectTimeoutMs = 5_000;
/** Of one that is there, such as a stack whose process runs: whatever keeps the machine busy will pass. */
const busyConnectTimeoutMs = 20_000;

/**
 * Connects to a Temporal.
 * @param rest.stack The one that runs it, as it told of itself; it may have been ended from outside.
 * @throws CommandError `TEMPORAL_UNREACHABLE`
 */
export async function connect(
  context: CommandContext,
  target: TemporalTarget,
  { taskQueue, stack }: { taskQueue: string; stack?: StackRecord | undefined },
): Promise<StackInUse> {
  const dataConverter = await openDataConverter(context);
  const connection = await openConnection(context, target, stack);
  const client = new Client({ connection, namespace: target.namespace, dataConverter });
  const running = new Set<AbortController>();
  return {
    client,
    taskQueue,
    uiUrl:
      context.config.values.temporal.uiUrl ??
      stack?.temporal.uiUrl ??
      (isTemporalCloud(target.connection.address) ? 'https://cloud.temporal.io' : undefined),
    outlivesCommand: true,
    async untilClosed(run) {
      const ending = new AbortController();
      // The SDK adds a listener for each request and removes none; long-running work gets an `untilClosed` of its own.
      setMaxListeners(0, ending.signal);
      running.add(ending);
      try {
        return await connection.withAbortSignal(ending.signal, run);
      } finally {
        // Ends requests whose answer nobody awaits any more, such as for a job's result.
        ending.abort();
        running.delete(ending);
      }
    },
    async close() {
      // A request that outlives its connection would be retried when the server ends, and throw where nothing catches it.
      for (const ending of running) ending.abort();
      await connection.close();
    },
  };
}

/** What listens and has not answered gets the longer time, too: it is told, as that is a long time to see nothing. */
async function openConnection(
  context: CommandContext,
  target: TemporalTarget,
  stack: StackRecord | undefined,
): Promise<Connection> {
  const { address, tls } = target.connection;
  const open = (connectTimeout: number) =>
    Connection.connect({
      ...target.connection,
      // gRPC would take the proxy for HTTPS for itself; `grpc_proxy` asks for one.
      channelArgs: context.env['grpc_proxy'] ? {} : { 'grpc.enable_http_proxy': 0 },
      interceptors: retriesThatEndQuietly(),
      connectTimeout,
    });
  const isThere = stack !== undefined && isAlive(stack.pid);
  const refuse = (error: unknown, spoken?: Spoken) => unreachable(context, target, { stack, spoken, error });
  try {
    return await open(isThere ? busyConnectTimeoutMs : connectTimeoutMs);
  } catch (error) {
    if (isThere && !target.isNamed) throw refuse(error);
    const spoken = await spokenAt(address);
    if (isThere || tls || spoken !== 'plain') throw refuse(error, spoken);
  }
  const waitsFor = `waits for it up to ${busyConnectTimeoutMs / 1_000} s more.`;
  context.output.warn(`What listens at ${address} has not answered as Temporal so far; ${waitsFor}`);
  return open(busyConnectTimeoutMs).catch((error: unknown) => {
    throw refuse(error, 'plain');
  });
}

export function isTemporalCloud(address: string): boolean {
  return /\.(tmprl\.cloud|api\.temporal\.io)(:\d+)?$/.test(address);
}

function unreachable(
  { config }: CommandContext,
  { connection, isNamed }: TemporalTarget,
  { stack, spoken, error }: { stack: StackRecord | undefined; spoken: Spoken | undefined; error: unknown },
): CommandError {
  const message = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
  const reason = message.includes('deadline') ? '' : ` (${message})`;
  const where = `Temporal can't be reached at ${connection.address}${reason}.`;
  const told = (whatToDo: string) =>
    new CommandError('TEMPORAL_UNREACHABLE', [`${where} ${whatToDo}`], { cause: error });
  if (isNamed) {
    if (spoken === 'tls' && !connection.tls) {
      return told('TLS is spoken there: set TEMPORAL_TLS=true, or tls in the profile of Temporal.');
    }
    if (spoken === 'plain' && connection.tls) {
      return told(
        'No TLS is spoken there: unset TEMPORAL_TLS and TEMPORAL_API_KEY, or turn tls off in the profile of Temporal.',
      );
    }
    return told(
      'Start it there or correct the address (TEMPORAL_ADDRESS); without one, a Temporal of this machine is used.',
    );
  }
  const { dir } = config.values.state;
  return told(
    stack && isAlive(stack.pid)
      ? `The stack of ${dir} runs as process ${stack.pid} and does not answer. If that lasts, end it with Ctrl-C there, and start it again: fileconv up`
      : `The stack of ${dir} was ended from outside. Start it again: fileconv up`,
  );
}

type Spoken = 'tls' | 'plain';

/** Whether what listens there speaks TLS; undefined: nothing answers. Nothing is sent but the beginning of a handshake. */
async function spokenAt(address: string): Promise<Spoken | undefined> {
  const url = `tcp://${address}`;
  if (!URL.canParse(url)) return undefined;
  const { hostname, port } = new URL(url);
  const { connect: connectTls } = await import('node:tls');
  return new Promise((resolve) => {
    let isThere = false;
    // Whose certificate it is does not matter here.
    const socket = connectTls({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port),
      rejectUnauthorized: false,
    });
    const settle = (answer?: Spoken) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(probeTimeoutMs, () => settle());
    socket.once('secureConnect', () => settle('tls'));
    socket.once('connect', () => (isThere = true));
    // An alert is TLS, too.
    socket.once('error', (error) => {
      const isAlert = systemErrorCode(error)?.includes('ALERT') === true;
      settle(isAlert ? 'tls' : isThere ? 'plain' : undefined);
    });
  });
}

const probeTimeoutMs = 2_000;
