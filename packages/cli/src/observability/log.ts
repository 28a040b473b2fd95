import type { Log } from 'temporal-file-conversion/messages';
import type { CommandContext } from '../command-context';
import type { Output, OutputStream } from '../output/output';

/**
 * The log of a process that runs until it is asked to end, as `[log]` of the configuration wants it.
 * @param where.stream default: stderr.
 */
export async function openLog(
  context: CommandContext,
  { process, stream }: { process: 'worker' | 'service' | 'callbacks'; stream?: OutputStream },
): Promise<Log> {
  // Loaded here: a command that ends by itself writes no log.
  const { createProcessLog } = await import('./process-log.js');
  const { level } = context.config.values.log;
  const { secrets, stderr } = context;
  const format = stream ? 'json' : logFormat(context);
  return createProcessLog({ process, level, format, secrets, stream: stream ?? stderr });
}

/**
 * What a running process says to a person. Unless stderr is a terminal, this goes into the log, so that stderr holds nothing but log
 * lines.
 */
export function runningOutput(context: CommandContext, log: Log): Pick<Output, 'say' | 'warn'> {
  if (logFormat(context) === 'text') return context.output;
  return { say: (text) => log(text), warn: (text) => log(text, { level: 'warn' }) };
}

/** For people on a terminal; anything else may be read by programs. */
function logFormat({ stderr }: CommandContext): 'json' | 'text' {
  return stderr.isTTY === true ? 'text' : 'json';
}
