import { createReadStream } from 'node:fs';

export interface FileLine {
  text: string;
  /** The byte after the line. */
  next: number;
}

const chunkBytes = 256 * 1024;
/** Longer than any row that was checked; what is longer is no text file of ours. */
const longestLineBytes = 4 * 1024 * 1024;
const lineFeed = 0x0a;

/** The lines of a UTF-8 file from a byte on that begins a line. Memory does not grow with the file. */
export async function* readFileLines(filePath: string, from = 0): AsyncGenerator<FileLine> {
  let rest: Buffer = Buffer.alloc(0);
  let next = from;
  for await (const chunk of createReadStream(filePath, {
    start: from,
    highWaterMark: chunkBytes,
  }) as AsyncIterable<Buffer>) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let start = 0;
    for (let end = bytes.indexOf(lineFeed, 0); end !== -1; end = bytes.indexOf(lineFeed, start)) {
      next += end + 1 - start;
      yield { text: bytes.toString('utf8', start, end), next };
      start = end + 1;
    }
    rest = bytes.subarray(start);
    if (rest.length > longestLineBytes) throw new Error(`a line is longer than ${longestLineBytes} bytes`);
  }
  if (rest.length > 0) yield { text: rest.toString('utf8'), next: next + rest.length };
}
