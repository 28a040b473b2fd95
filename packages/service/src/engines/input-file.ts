import { readFile, stat } from 'node:fs/promises';
import { ConversionFailure, type ConversionRequest, type Converted } from './conversion';

/** Of an engine that has its input in memory. */
export type ConvertBytes = (request: ConversionRequest, input: Buffer) => Promise<Converted>;

const maxInputBytes = 256 * 1024 * 1024;

export async function readInput({ inputPath, inputFormat }: ConversionRequest): Promise<Buffer> {
  const { size } = await stat(inputPath);
  if (size > maxInputBytes) {
    throw new ConversionFailure(
      `The ${inputFormat} file is ${Math.ceil(size / 1024 / 1024)} MiB; the engine takes at most ${maxInputBytes / 1024 / 1024} MiB.`,
    );
  }
  return readFile(inputPath);
}
