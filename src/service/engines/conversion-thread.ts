import { open, readFile, stat } from 'node:fs/promises';
import { threadId } from 'node:worker_threads';
import { inspectError, messageOf } from '../caught';
import { ConversionFailure, type ConversionOutcome, type ConversionRequest, oneLine } from './conversion';
import { convertImage } from './image-engine';
import { convertDocument, isPandocBroken } from './pandoc-engine';
import { convertToPdf } from './pdf-engine';

/** What a conversion thread runs (piscina calls the default export). Each engine is loaded when it is first needed. */

const maxInputBytes = 256 * 1024 * 1024;

/** WebAssembly memory grows and never shrinks; a thread that holds more than this is replaced. */
const maxExternalBytes = 768 * 1024 * 1024;

// The WASI layer of pandoc prints engine chatter to the console, which is the service's.
console.log = () => undefined;
console.warn = () => undefined;

const engines = { sharp: convertImage, pandoc: convertDocument, 'typst-pdf': convertToPdf };

export default async function convert(request: ConversionRequest): Promise<ConversionOutcome> {
  try {
    const input = await readInput(request);
    const { data, warnings } = await engines[request.route.engine](request, input);
    await writeDurably(request.outputPath, data);
    return { threadId, worn: isWorn(), status: 'successful', bytes: data.byteLength, warnings };
  } catch (error) {
    return { threadId, worn: isWorn(), ...describeFailure(error) };
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

function isWorn(): boolean {
  return isPandocBroken() || process.memoryUsage().external > maxExternalBytes;
}

function describeFailure(error: unknown): { status: 'failed' | 'broken'; message: string } {
  if (error instanceof ConversionFailure) return { status: 'failed', message: oneLine(error.message) };
  if (error instanceof RangeError)
    return { status: 'failed', message: 'The document is nested too deeply to be converted.' };
  const { syscall } = inspectError(error);
  return { status: syscall === undefined ? 'failed' : 'broken', message: oneLine(messageOf(error)) };
}
