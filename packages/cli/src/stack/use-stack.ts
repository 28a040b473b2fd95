import { setTimeout as sleep } from 'node:timers/promises';
import type { CommandContext } from '../command-context';
import { CommandError, interrupted } from '../command-error';
import { temporalTarget, type TemporalTarget } from '../config/temporal-connection';
import { isEncrypting } from '../keys/secrets';
import { runningServiceUrl } from '../service/embedded-service';
import type { StackInUse } from './connect';
import type { ServicePartOptions } from './service-part';
import { isOfStack, readLiveStack, type StackRecord } from './stack-record';
import { startStack, type Stack } from './start-stack';

const lockRetryMs = 200;

/**
 * The running stack, or a new one that ends with this command.
 * @throws CommandError `INTERRUPTED` if the signal aborts first.
 */
export async function useStack(
  context: CommandContext,
  signal: AbortSignal,
  { expects }: Pick<ServicePartOptions, 'expects'> = {},
): Promise<StackInUse> {
  const { config, output } = context;
  const { state, worker } = config.values;
  const target = temporalTarget(context);
  const news = target.isNamed
    ? `No worker polls task queue ${worker.taskQueue}: starting a service and a worker for this command.`
    : `No stack runs in ${state.dir}: starting one for this command (\`fileconv up\` keeps one).`;
  const own = { startedBy: 'command' as const, expects, signal, onStart: () => output.say(news) };
  try {
    for (let attempt = 1; ; attempt += 1) {
      // For our own stack try the lock first: the record of a killed stack may have a reused process id.
      const running = target.isNamed || attempt > 1 ? await findRunning(context, target) : undefined;
      if (running) return running;
      const stack = await startStack(context, own);
      if (stack) return await ownStack(context, stack, target);
      if (attempt === 1) continue;
      // A starting stack soon writes its record; one that stops, or belongs to another command, releases its lock.
      if (attempt === 2) output.say(`Another fileconv command holds the stack of ${state.dir}; waiting for it.`);
      await sleep(lockRetryMs, undefined, { signal });
    }
  } catch (error) {
    if (signal.aborted) throw interrupted(error);
    // `fileconv service` on its own: the mistake is not that it runs.
    const isOfService = target.isNamed && error instanceof CommandError && error.code === 'SERVICE_UNUSABLE';
    if (!isOfService || (await runningServiceUrl(context)) === undefined) throw error;
    const problem = `No worker polls task queue ${worker.taskQueue}, and none can be started for this command beside a service that runs already. Start one: fileconv worker; another queue is set with FILECONV_WORKER_TASK_QUEUE`;
    throw new CommandError('SERVICE_UNUSABLE', [problem], { cause: error });
  }
}

/** This folder's stack if started by `up`, or the named Temporal if a worker serves it. */
async function findRunning(context: CommandContext, target: TemporalTarget): Promise<StackInUse | undefined> {
  const { state, worker } = context.config.values;
  const { taskQueue } = worker;
  const stack = await readLiveStack(state.dir);
  const record = stack?.startedBy === 'up' ? stack : undefined;
  if (!target.isNamed) return record && connectTo(context, record, target);
  const isThere = record !== undefined && isOfStack(record, target.connection.address);
  // No check for workers: the stack's may not be listed yet, or be too busy to be listed.
  if (isThere && record.taskQueue === taskQueue) return connectTo(context, record, target);
  const { connect, hasWorker } = await import('./connect.js');
  const inUse = await connect(context, target, { taskQueue });
  let isServed = false;
  try {
    isServed = await hasWorker(inUse);
  } finally {
    if (!isServed) await inUse.close();
  }
  return isServed ? inUse : undefined;
}

async function ownStack(context: CommandContext, stack: Stack, target: TemporalTarget): Promise<StackInUse> {
  try {
    const inUse = await connectTo(context, stack.record, target);
    return {
      ...inUse,
      outlivesCommand: false,
      untilClosed: (run) => Promise.race([inUse.untilClosed(run), stack.failed]),
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

async function connectTo(
  context: CommandContext,
  record: StackRecord,
  { connection, isNamed }: TemporalTarget,
): Promise<StackInUse> {
  const { values, origins } = context.config;
  const { temporal } = record;
  const { taskQueue } = origins['worker.task_queue'] === undefined ? record : values.worker;
  requireSameEncryption(context, record);
  const { connect } = await import('./connect.js');
  // Credentials go only to the Temporal that they were given for.
  const own = { ...(isNamed && connection), address: temporal.address };
  return connect(context, { connection: own, namespace: temporal.namespace, isNamed }, { taskQueue, stack: record });
}

/** Prevents a job that its worker can't read, which would wait forever, and a paid result that the command can't read. */
function requireSameEncryption(context: CommandContext, { codec }: StackRecord): void {
  const isOn = isEncrypting(context);
  if (isOn === (codec !== undefined)) return;
  const stack = `The stack of ${context.config.values.state.dir}`;
  const problem = isOn
    ? `${stack} does not encrypt what Temporal stores, and encryption is on here: its worker could not read the job. Nothing was started. Start the stack with these keys (encryption.key_file or key_env), or leave them out.`
    : `${stack} encrypts what Temporal stores, and encryption is off here: its result could not be read. Nothing was started. Set encryption.key_file or key_env to the keys of the stack.`;
  throw new CommandError('INPUT_UNUSABLE', [problem]);
}
