import type { Log } from 'temporal-file-conversion/messages';
import type { CommandContext } from '../command-context';
import type { Output, OutputStream } from '../output/output';

/**
 * The log of a long-running process, configured by `[log]`.
 * @param where.stream default: stderr.
 */
export async function openLog(
  context: CommandContext,
  { process, stream }: { process: 'worker' | 'service' | 'callbacks'; stream?: OutputStream },
): Promise<Log> {
  // Lazy: short-lived commands write no log.
  const { createProcessLog } = await import('./process-log.js');
  const { level } = context.config.values.log;
  const { secrets, stderr } = context;
  const format = stream ? 'json' : logFormat(context);
  return createProcessLog({ process, level, format, secrets, stream: stream ?? stderr });
}

/**
 * Messages of a running process to a person. Unless stderr is a terminal they go into the log, so that stderr has only log
 * lines.
 */
export function runningOutput(context: CommandContext, log: Log): Pick<Output, 'say' | 'warn'> {
  if (logFormat(context) === 'text') return context.output;
  return { say: (text) => log(text), warn: (text) => log(text, { level: 'warn' }) };
}

/** Text on a terminal; otherwise JSON, since programs may read it. */
function logFormat({ stderr }: CommandContext): 'json' | 'text' {
  return stderr.isTTY === true ? 'text' : 'json';
}
