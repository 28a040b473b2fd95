import type { CommandContext } from '../command-context';
import { CommandError } from '../command-error';
import { TemporalServerError } from '../dev-server';
import { bothTimes } from '../output/text';
import { aborted, untilAskedToEnd } from '../stack/asked-to-end';
import { readStackHolder, readStackRecord, type StackRecord } from '../stack/stack-record';
import { startStack } from '../stack/start-stack';

export async function up(context: CommandContext, { ui }: { ui?: boolean }): Promise<void> {
  const { output, config } = context;
  const stateDir = config.values.state.dir;
  const signal = untilAskedToEnd(context);
  const stack = await startStack(context, { startedBy: 'up', wait: false, ui, signal }).catch(
    async (error: unknown) => {
      if (signal.aborted) throw new CommandError('INTERRUPTED', ['Interrupted while it started.'], { cause: error });
      if (!(error instanceof TemporalServerError && error.code === 'LOCK_HELD')) throw error;
      throw new CommandError('STACK_RUNNING', [await describeHolder(stateDir)], { cause: error });
    },
  );
  try {
    output.result(stack.record, describe(stack.record, stateDir));
    await Promise.race([aborted(signal), stack.failed]);
    output.say(
      'Stopping; jobs that are not finished continue with the next `fileconv up`. Ctrl-C again does not wait.',
    );
  } finally {
    await stack.stop();
  }
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

async function describeHolder(stateDir: string): Promise<string> {
  const holder = await readStackHolder(stateDir);
  if (!holder) return `Another fileconv process holds the stack of ${stateDir}. Try again in a moment.`;
  const { pid, startedBy } = holder;
  const since = bothTimes(new Date(holder.since));
  if (startedBy === 'command') {
    return `Process ${pid}, a fileconv command, has run the stack of ${stateDir} for itself since ${since}. Try again when it has ended.`;
  }
  const record = await readStackRecord(stateDir);
  if (record?.pid !== pid) {
    return `Process ${pid} has been starting the stack of ${stateDir} since ${since}. Use it as soon as it is there (\`fileconv convert ...\`), or stop it with Ctrl-C there.`;
  }
  const { uiUrl } = record.temporal;
  const where = uiUrl === undefined ? '' : ` Its Temporal UI is ${uiUrl}.`;
  return `Process ${pid} has run the stack of ${stateDir} since ${since}.${where} Use it (\`fileconv convert ...\`), or stop it with Ctrl-C there.`;
}
