import pino from 'pino';
import { type Log, type LogLevel, printable } from 'temporal-file-conversion/messages';
import { z } from 'zod';
import { mask, secretFields, type SecretMask } from '../output/secret-mask';

interface ProcessLogOptions {
  process: string;
  level: LogLevel;
  format: 'json' | 'text';
  secrets: SecretMask;
  stream: { write(line: string): unknown };
}

/** The log of a process: a line per event, with secrets masked. A field `time` (ISO 8601) replaces the current time. */
export function createProcessLog({ process: name, level, format, secrets, stream }: ProcessLogOptions): Log {
  const logger = pino(
    {
      level,
      base: { process: name, pid: process.pid },
      timestamp: false,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: [...secretFields], censor: mask },
    },
    {
      write(json: string) {
        // Masks the whole line too: a message may quote a secret that is in no redacted field.
        const line = secrets.apply(json);
        stream.write(format === 'json' ? line : textLine(line));
      },
    },
  );
  return (message, { level: importance = 'info', ...fields } = {}) => {
    if (!logger.isLevelEnabled(importance)) return;
    logger[importance]({ time: new Date().toISOString(), ...fields }, message);
  };
}

const lineSchema = z.looseObject({ level: z.string(), time: z.string(), msg: z.string() });

const leftOut = ['pid', 'process', 'namespace', 'taskQueue', 'sdkComponent'];

function textLine(json: string): string {
  const { level, time, msg, ...fields } = lineSchema.parse(JSON.parse(json));
  const pairs = Object.entries(fields)
    .filter(([name]) => !leftOut.includes(name))
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  return `${[time, level.toUpperCase().padEnd(5), msg, ...pairs].map(printable).join(' ')}\n`;
}
