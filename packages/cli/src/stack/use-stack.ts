import { setTimeout as sleep } from 'node:timers/promises';
import { aliveWorkers } from 'temporal-file-conversion/client';
import type { CommandContext } from '../command-context';
import { CommandError, interrupted } from '../command-error';
import { temporalTarget, type TemporalTarget } from '../config/temporal-connection';
import { TemporalServerError } from '../dev-server';
import { isEncrypting } from '../keys/encryption-settings';
import { connect, type StackInUse } from './open-temporal';
import { isOfStack, readLiveStack, type StackRecord } from './stack-record';
import { startStack, type Stack } from './start-stack';

const lockRetryMs = 200;

/**
 * The stack that runs already, or one that ends with this command.
 * @throws CommandError `INTERRUPTED` when the signal aborts before it is there.
 */
export async function useStack(context: CommandContext, signal: AbortSignal): Promise<StackInUse> {
  const target = temporalTarget(context);
  try {
    return await (target.isNamed ? useExternal : useLocal)(context, target, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    throw interrupted(error);
  }
}

/** Somebody's Temporal, with somebody's worker if there is one. */
async function useExternal(context: CommandContext, target: TemporalTarget, signal: AbortSignal): Promise<StackInUse> {
  const { config, output } = context;
  const { taskQueue } = config.values.worker;
  const record = await runningUp(config.values.state.dir);
  const isThere = record !== undefined && isOfStack(record, target.connection.address);
  // Its worker may not be listed yet, or be too busy to be.
  if (isThere && record.taskQueue === taskQueue) return connectTo(context, record, target);
  const inUse = await connect(context, target, { taskQueue });
  let isServed = false;
  try {
    isServed = (await aliveWorkers(inUse.client, taskQueue)).length > 0;
  } finally {
    if (!isServed) await inUse.close();
  }
  if (isServed) return inUse;
  output.say(`No worker polls task queue ${taskQueue}: starting a service and a worker for this command.`);
  return ownStack(context, await startStack(context, { startedBy: 'command', signal }), target);
}

async function useLocal(context: CommandContext, target: TemporalTarget, signal: AbortSignal): Promise<StackInUse> {
  const { config, output } = context;
  const stateDir = config.values.state.dir;
  for (let attempt = 1; ; attempt += 1) {
    const stack = await startUnlessHeld(context, signal);
    if (stack) return ownStack(context, stack, target);
    const record = await runningUp(stateDir);
    if (record) return connectTo(context, record, target);
    // A stack that is starting writes its record soon; one that stops, or runs for another command, releases its lock.
    if (attempt === 2) output.say(`Another fileconv command holds the stack of ${stateDir}; waiting for it.`);
    await sleep(lockRetryMs, undefined, { signal });
  }
}

async function startUnlessHeld(context: CommandContext, signal: AbortSignal): Promise<Stack | undefined> {
  const { dir } = context.config.values.state;
  const onStart = () =>
    context.output.say(`No stack runs in ${dir}: starting one for this command (\`fileconv up\` keeps one).`);
  try {
    return await startStack(context, { startedBy: 'command', signal, wait: false, onStart });
  } catch (error) {
    if (error instanceof TemporalServerError && error.code === 'LOCK_HELD') return undefined;
    throw error;
  }
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

/** Connects to the Temporal of a stack that runs. */
export async function connectTo(
  context: CommandContext,
  record: StackRecord,
  { connection, isNamed }: TemporalTarget,
): Promise<StackInUse> {
  const { temporal, taskQueue } = record;
  requireSameEncryption(context, record);
  // Credentials are sent only to the Temporal that they were given for.
  const own = { ...(isNamed && connection), address: temporal.address };
  const target = { connection: own, namespace: temporal.namespace, isNamed };
  return { ...(await connect(context, target, { taskQueue, stack: record })), address: temporal.address };
}

/** A job whose worker can't read what it is to do would wait for good, and one whose command can't read the result would be paid for first. */
function requireSameEncryption(context: CommandContext, { codec }: StackRecord): void {
  const isOn = isEncrypting(context);
  if (isOn === (codec !== undefined)) return;
  const stack = `The stack of ${context.config.values.state.dir}`;
  const problem = isOn
    ? `${stack} does not encrypt what Temporal stores, and encryption is on here: its worker could not read the job. Nothing was started. Start the stack with these keys (encryption.key_file or key_env), or leave them out.`
    : `${stack} encrypts what Temporal stores, and encryption is off here: its result could not be read. Nothing was started. Set encryption.key_file or key_env to the keys of the stack.`;
  throw new CommandError('INPUT_UNUSABLE', [problem]);
}

/** The stack that every command may use. Its record may be left over from a crash. */
async function runningUp(stateDir: string): Promise<StackRecord | undefined> {
  const record = await readLiveStack(stateDir);
  return record?.startedBy === 'up' ? record : undefined;
}
