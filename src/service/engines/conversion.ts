import type { Route } from '../formats';

/** What goes to a conversion thread; files travel by path. */
export interface ConversionRequest {
  readonly route: Route;
  readonly inputPath: string;
  /** Where the thread writes the output; on disk when it answers. */
  readonly outputPath: string;
  /** The name of the source without its extension; a document without a title of its own takes it. */
  readonly title: string;
  /** Public names of the two formats, for messages. */
  readonly inputFormat: string;
  readonly outputFormat: string;
  readonly timeoutMs: number;
}

/** Warning names, each with how to resolve it. */
export type Warnings = Record<string, string>;

/** What a thread answers. Errors are data here: a class does not survive the way between threads. */
export type ConversionOutcome = { threadId: number; worn: boolean } & (
  | { status: 'successful'; bytes: number; warnings: Warnings }
  /** The input cannot be converted; the message is one line for its owner. */
  | { status: 'failed'; message: string }
  /** The machine failed (no space, no permission), not the input. */
  | { status: 'broken'; message: string }
);

/** A conversion result that still has to be written. */
export interface Converted {
  readonly data: Uint8Array;
  readonly warnings: Warnings;
}

/** The input or the engine says no; the message is for the owner of the file. */
export class ConversionFailure extends Error {
  override readonly name = 'ConversionFailure';
}

/** The first line of what an engine says, short enough for a message. */
export function oneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > 300 ? `${line.slice(0, 297)}...` : line;
}
