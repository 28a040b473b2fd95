import { TemporalServerError } from '../../temporal-server';
import type { CommandContext } from '../command-context';
import type { ExitCode } from '../exit';
import { CommandError, exitCodes } from '../exit';
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
    if (!(error instanceof TemporalServerError && error.code === 'LOCK_HELD')) throw error;
    throw alreadyRunning(stateDir, await readStackRecord(stateDir), error);
  });
  try {
    const { record } = stack;
    if (output.json) output.printJson(record);
    else output.print(describe(record, stateDir));
    await aborted(signal);
    output.say('Stopping; jobs that are not finished go on with the next `fileconv up`.');
  } finally {
    await stack.stop();
  }
  return exitCodes.ok;
}

function describe(record: StackRecord, stateDir: string): string {
  const lines = [
    `Temporal            ${record.temporal.address} (namespace ${record.temporal.namespace})`,
    record.temporal.uiUrl === undefined ? '' : `Temporal UI         ${record.temporal.uiUrl}`,
    `Conversion service  ${record.service.url}`,
    `Worker              task queue ${record.taskQueue}`,
    `State and logs      ${stateDir}`,
    '',
    'Next, in another terminal: fileconv convert FILE --to pdf',
    'Ctrl-C stops everything.',
  ];
  return lines.filter((line, index) => line !== '' || index === 5).join('\n');
}

function alreadyRunning(stateDir: string, record: StackRecord | undefined, cause: Error): CommandError {
  const where = record?.temporal.uiUrl === undefined ? '' : ` Its Temporal UI is ${record.temporal.uiUrl}.`;
  const who = record === undefined ? 'Another process' : `Process ${record.pid}`;
  return new CommandError(
    `${who} runs the stack of ${stateDir} already.${where} Use it (\`fileconv convert ...\`), or stop it with Ctrl-C there.`,
    exitCodes.failed,
    { cause },
  );
}
