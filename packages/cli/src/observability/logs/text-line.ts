import { printable } from 'temporal-file-conversion/internal/shared/printable';
import { z } from 'zod';

const lineSchema = z.looseObject({ level: z.string(), time: z.string(), msg: z.string() });

/** What says nothing to whoever looks at one process. */
const untold = ['pid', 'process', 'namespace', 'taskQueue', 'sdkComponent'];

/** A line of the log for people: time, level, message, and the fields behind it. */
export function textLine(json: string): string {
  const { level, time, msg, ...fields } = lineSchema.parse(JSON.parse(json));
  const told = Object.entries(fields)
    .filter(([name]) => !untold.includes(name))
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  return `${[time, level.toUpperCase().padEnd(5), msg, ...told].map(printable).join(' ')}\n`;
}
