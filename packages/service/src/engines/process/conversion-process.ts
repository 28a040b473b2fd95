import { open, rename } from 'node:fs/promises';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { inspectError, isOutOfSpace, outOfSpaceMessage } from '../../shared/caught';
import {
  ConversionFailure,
  type ConversionOutcome,
  type EngineRequest,
  conversionRequestSchema,
  type Converted,
  type ConvertedFile,
  isRetired,
  joinWarnings,
  oneLine,
  ProgramKilled,
  failureReason,
  wroteTooMuch,
} from '../conversion';
import { engines } from '../engines-table';
import { asItIs } from '../file-kind';

/**
 * Entry point of a conversion process: one conversion at a time, requested and answered by a message. It is killed when one takes too
 * long, and kills itself when it needs too much memory or disk. Engines are loaded on first use.
 */

/** The parent is the service. Its pid is passed in, because it may be gone before anything here runs. */
const [maxMemoryBytes = 0, maxWrittenBytes = 0, parentPid = 0] = process.argv.slice(2).map(Number);

// The service ends this process, after marking the conversion as unfinished.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
// Not `process.exit()`, which would wait for native code, perhaps for minutes. 0 is the process group, with its programs.
process.on('disconnect', () => process.kill(0, 'SIGKILL'));

// Engines print chatter to the console.
console.error = () => undefined;
console.log = () => undefined;
console.warn = () => undefined;

const watchdog = new Worker(path.join(__dirname, 'process-watchdog.js'), {
  workerData: { maxMemoryBytes, maxWrittenBytes, parentPid },
});
watchdog.unref();

process.on('message', (message) => {
  void convert(conversionRequestSchema.parse(message)).then((outcome) => process.send?.(outcome));
});

async function convert(request: EngineRequest): Promise<ConversionOutcome> {
  try {
    const engine = engines.find(({ name }) => name === request.route.engine);
    if (!engine) throw new Error(`There is no engine ${request.route.engine}.`);
    const { request: real, warnings } = await asItIs(request, engine);
    const converted = filled(await (await engine.load())(real));
    const bytes = await writeDurably(request.outputPath, converted);
    return { retired: mustRetire(), status: 'successful', bytes, warnings: { ...warnings, ...converted.warnings } };
  } catch (error) {
    return { retired: mustRetire(), ...describeFailure(error) };
  }
}

/** An empty file would be taken for one that was cut off. */
function filled(converted: Converted | ConvertedFile): Converted | ConvertedFile {
  if ('file' in converted || converted.data.length > 0) return converted;
  const message = 'Nothing in the file can be in a result of this format, which is an empty line.';
  return { data: Buffer.from('\n'), warnings: joinWarnings(converted.warnings, { NO_TEXT: message }) };
}

async function writeDurably(file: string, converted: Converted | ConvertedFile): Promise<number> {
  if ('file' in converted) await rename(converted.file, file);
  const handle = await open(file, 'file' in converted ? 'r' : 'wx', 0o600);
  try {
    if ('data' in converted) await handle.writeFile(converted.data);
    const { size } = await handle.stat();
    if (size > maxWrittenBytes) throw new ConversionFailure(wroteTooMuch(maxWrittenBytes));
    await handle.sync();
    return size;
  } finally {
    await handle.close();
  }
}

/** WebAssembly memory never shrinks, and the next conversion should have at least half of the limit for itself. */
function mustRetire(): boolean {
  return isRetired() || process.memoryUsage.rss() > maxMemoryBytes / 2;
}

function describeFailure(error: unknown): { status: 'failed' | 'broken'; message: string; end?: 'killed' } {
  if (error instanceof ConversionFailure) return { status: 'failed', message: oneLine(error.message) };
  if (error instanceof RangeError)
    return { status: 'failed', message: 'The document is nested too deeply to be converted.' };
  if (isOutOfSpace(error)) return { status: 'broken', message: outOfSpaceMessage };
  if (error instanceof ProgramKilled) return { status: 'broken', message: error.message, end: 'killed' };
  const { code, syscall } = inspectError(error);
  if (code === 'EFBIG') return { status: 'failed', message: wroteTooMuch(maxWrittenBytes) };
  return { status: syscall === undefined ? 'failed' : 'broken', message: failureReason(error) };
}
