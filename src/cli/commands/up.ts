import { TemporalServerError } from '../../temporal-server';
import type { CommandContext } from '../command-context';
import { CommandError } from '../command-error';
import type { ExitCode } from '../exit';
import { exitCodes } from '../exit';
import { aborted, untilAskedToEnd } from '../stack/parent-process';
import type { StackRecord } from '../stack/stack-record';
import { readStackRecord } from '../stack/stack-record';
import { startStack } from '../stack/start-stack';

/** `fileconv up`: the whole stack in the foreground. */
export async function up(context: CommandContext): Promise<ExitCode> {
  const { output, config } = context;
  const stateDir = config.values.state.dir;
  const signal = untilAskedToEnd();
  const stack = await startStack(context, { startedBy: 'up', wait: false, signal }).catch(async (error: unknown) => {
    if (signal.aborted) throw new CommandError('INTERRUPTED', ['Interrupted while it started.'], { cause: error });
    if (!(error instanceof TemporalServerError && error.code === 'LOCK_HELD')) throw error;
    throw alreadyRunning(stateDir, await readStackRecord(stateDir), error);
  });
  try {
    if (output.json) output.printJson(stack.record);
    else output.print(describe(stack.record, stateDir));
    await aborted(signal);
    output.say('Stopping; jobs that are not finished go on with the next `fileconv up`. Ctrl-C again does not wait.');
  } finally {
    await stack.stop();
  }
  return exitCodes.ok;
}

function describe({ temporal, service, callbacks, codec, taskQueue }: StackRecord, stateDir: string): string {
  return [
    `Temporal            ${temporal.address} (namespace ${temporal.namespace})`,
    ...(temporal.uiUrl === undefined ? [] : [`Temporal UI         ${temporal.uiUrl}`]),
    `Conversion service  ${service.url}`,
    ...(callbacks === undefined ? [] : [`Callbacks           ${callbacks.url}`]),
    ...(codec === undefined ? [] : [`Codec server        ${codec.url}`]),
    `Worker              task queue ${taskQueue}`,
    `State and logs      ${stateDir}`,
    '',
    'Next, in another terminal: fileconv convert FILE --to pdf',
    'Ctrl-C stops everything.',
  ].join('\n');
}

/** What stands in the record may be what a crash left: then another command holds the lock and has not written its own yet. */
function alreadyRunning(stateDir: string, record: StackRecord | undefined, cause: Error): CommandError {
  if (record?.startedBy !== 'up') {
    return new CommandError(
      'STACK_RUNNING',
      [`A fileconv command runs the stack of ${stateDir} for itself. Try again when it has ended.`],
      { cause },
    );
  }
  const where = record.temporal.uiUrl === undefined ? '' : ` Its Temporal UI is ${record.temporal.uiUrl}.`;
  return new CommandError(
    'STACK_RUNNING',
    [
      `Process ${record.pid} runs the stack of ${stateDir} already.${where} Use it (\`fileconv convert ...\`), or stop it with Ctrl-C there.`,
    ],
    { cause },
  );
}
