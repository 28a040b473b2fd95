import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import type { TemporalTarget } from '../../config/temporal-connection';
import { temporalTarget } from '../../config/temporal-connection';
import { systemErrorCode } from '../../shared/system-error';
import { TemporalServerError, chooseTemporal } from '../../temporal-server';
import { configuredServiceUrl } from '../app-profiles';
import type { CommandContext } from '../command-context';
import { CommandError, exitCodes } from '../exit';
import type { StackRecord } from './stack-record';
import { readStackRecord } from './stack-record';
import type { Stack } from './start-stack';
import { startStack } from './start-stack';

/** What a command needs to run jobs, whoever runs the processes behind it. */
export interface StackInUse {
  client: Client;
  serviceUrl: string;
  taskQueue: string;
  uiUrl?: string | undefined;
  /** Jobs that are not finished: whether they go on when this command ends. */
  outlivesCommand: boolean;
  close(): Promise<void>;
}

const recordTimeoutMs = 30_000;

/** The stack that runs already, or one that ends with this command. With `startedBy: 'up'` other commands may use it meanwhile. */
export async function useStack(
  context: CommandContext,
  signal: AbortSignal,
  startedBy: StackRecord['startedBy'] = 'command',
): Promise<StackInUse> {
  const { env, config, output } = context;
  const { values } = config;
  const target = temporalTarget(values.temporal, env);
  if (chooseTemporal(env, values.temporal).kind === 'external') {
    const inUse = await connect(target, configuredServiceUrl(context), values.worker.taskQueue);
    if (await hasWorker(inUse.client, target.namespace, values.worker.taskQueue)) return inUse;
    output.say(
      `No worker polls task queue ${values.worker.taskQueue}; starting a service and a worker for this command.`,
    );
    await inUse.close();
    return ownStack(await startStack(context, { startedBy, signal }), target);
  }
  try {
    const stack = await startStack(context, {
      startedBy,
      wait: false,
      signal,
      onStart: () =>
        output.say(`No stack runs in ${values.state.dir}: starting one for this command (\`fileconv up\` keeps one).`),
    });
    return await ownStack(stack, target);
  } catch (error) {
    if (!(error instanceof TemporalServerError && error.code === 'LOCK_HELD')) throw error;
  }
  const record = await awaitRecord(values.state.dir, signal);
  if (record.startedBy === 'up') return connectTo(record, target);
  output.say(`Another command (process ${record.pid}) runs the stack of ${values.state.dir}; waiting for it to end.`);
  return ownStack(await startStack(context, { startedBy, signal }), target);
}

async function ownStack(stack: Stack, target: TemporalTarget): Promise<StackInUse> {
  try {
    const inUse = await connectTo(stack.record, target);
    return {
      ...inUse,
      outlivesCommand: false,
      async close() {
        await inUse.close();
        await stack.stop();
      },
    };
  } catch (error) {
    await stack.stop();
    throw error;
  }
}

async function connectTo(record: StackRecord, target: TemporalTarget): Promise<StackInUse> {
  const { address, namespace, uiUrl } = record.temporal;
  const inUse = await connect(
    { connection: { ...target.connection, address }, namespace },
    record.service.url,
    record.taskQueue,
  );
  return { ...inUse, uiUrl };
}

async function connect(target: TemporalTarget, serviceUrl: string, taskQueue: string): Promise<StackInUse> {
  const connection = await Connection.connect(target.connection).catch((error: unknown) => {
    throw new CommandError(
      `Temporal can't be reached at ${target.connection.address ?? ''}. Start it there, or unset TEMPORAL_ADDRESS to use one of this machine.`,
      exitCodes.failed,
      { cause: error },
    );
  });
  return {
    client: new Client({ connection, namespace: target.namespace }),
    serviceUrl,
    taskQueue,
    outlivesCommand: true,
    close: () => connection.close(),
  };
}

async function hasWorker(client: Client, namespace: string, taskQueue: string): Promise<boolean> {
  const { pollers } = await client.workflowService.describeTaskQueue({ namespace, taskQueue: { name: taskQueue } });
  return pollers.length > 0;
}

/** The holder of the lock writes its record once everything runs. */
async function awaitRecord(stateDir: string, signal: AbortSignal): Promise<StackRecord> {
  const deadline = Date.now() + recordTimeoutMs;
  for (;;) {
    const record = await readStackRecord(stateDir);
    if (record && isAlive(record.pid)) return record;
    if (Date.now() > deadline) {
      throw new CommandError(
        `Another process holds ${stateDir} but does not say where its stack is. End it, or use another state folder (FILECONV_STATE_DIR).`,
      );
    }
    await sleep(100, undefined, { signal });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return systemErrorCode(error) === 'EPERM';
  }
}
