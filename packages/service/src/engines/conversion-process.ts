import { writeFileSync } from 'node:fs';
import { open, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { inspectError, isOutOfSpace, messageOf, outOfSpaceMessage } from '../shared/caught';
import {
  ConversionFailure,
  type ConversionOutcome,
  type ConversionRequest,
  conversionRequestSchema,
  oneLine,
} from './conversion';
import { convertImage } from './image-engine';
import { convertDocument, isPandocBroken } from './pandoc-engine';
import { convertToPdf } from './pdf-engine';

/**
 * What a conversion process runs: one conversion at a time, each asked for and answered by a message. It is killed when one takes
 * too long, and kills itself when it needs too much memory. Each engine is loaded when it is first needed.
 */

const maxMemoryBytes = Number(process.argv[2]);
/** Passed in, because the service may be gone before anything here runs. */
const servicePid = Number(process.argv[3]);

const maxInputBytes = 256 * 1024 * 1024;

const engines = { sharp: convertImage, pandoc: convertDocument, 'typst-pdf': convertToPdf };

// The service ends this process, after it has marked the conversion as unfinished.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
// Not `process.exit()`: it would wait for native code, which may go on for minutes.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));

// The WASI layer of pandoc prints engine chatter to the console.
console.log = () => undefined;
console.warn = () => undefined;

offerToOutOfMemoryKiller();
const watchdog = new Worker(path.join(__dirname, 'process-watchdog.js'), {
  workerData: { maxMemoryBytes, servicePid },
});
watchdog.unref();

process.on('message', (message) => {
  void convert(conversionRequestSchema.parse(message)).then((outcome) => process.send?.(outcome));
});

async function convert(request: ConversionRequest): Promise<ConversionOutcome> {
  try {
    const input = await readInput(request);
    const { data, warnings } = await engines[request.route.engine](request, input);
    await writeDurably(request.outputPath, data);
    return { worn: isWorn(), status: 'successful', bytes: data.byteLength, warnings };
  } catch (error) {
    return { worn: isWorn(), ...describeFailure(error) };
  }
}

/** When the machine runs out of memory, Linux should kill the conversion and nothing else. */
function offerToOutOfMemoryKiller(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', '1000');
  } catch {
    // Not Linux.
  }
}

async function readInput({ inputPath, inputFormat }: ConversionRequest): Promise<Buffer> {
  const { size } = await stat(inputPath);
  if (size > maxInputBytes) {
    throw new ConversionFailure(
      `The ${inputFormat} file is ${Math.ceil(size / 1024 / 1024)} MiB; the engines take at most ${maxInputBytes / 1024 / 1024} MiB.`,
    );
  }
  return readFile(inputPath);
}

async function writeDurably(file: string, data: Uint8Array): Promise<void> {
  const handle = await open(file, 'wx', 0o600);
  try {
    await handle.writeFile(data);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** WebAssembly memory never shrinks, and the next conversion should have at least half of the limit for itself. */
function isWorn(): boolean {
  return isPandocBroken() || process.memoryUsage.rss() > maxMemoryBytes / 2;
}

function describeFailure(error: unknown): { status: 'failed' | 'broken'; message: string } {
  if (error instanceof ConversionFailure) return { status: 'failed', message: oneLine(error.message) };
  if (error instanceof RangeError)
    return { status: 'failed', message: 'The document is nested too deeply to be converted.' };
  if (isOutOfSpace(error)) return { status: 'broken', message: outOfSpaceMessage };
  const { syscall } = inspectError(error);
  return { status: syscall === undefined ? 'failed' : 'broken', message: oneLine(messageOf(error)) };
}
