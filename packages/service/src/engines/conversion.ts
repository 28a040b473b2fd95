import { z } from 'zod';
import { messageOf } from '../shared/caught';
import { parametersSchema } from './parameters';

/** What goes to a conversion process; files travel by path. */
export const conversionRequestSchema = z.object({
  /** The name of the engine, and what it calls the two formats. */
  route: z.object({ engine: z.string(), reader: z.string(), writer: z.string() }),
  inputPath: z.string(),
  /** Where the process writes the output; on disk when it answers. */
  outputPath: z.string(),
  /** The name of the source without its extension; the title of a document that has none. */
  title: z.string(),
  /** Public names of the two formats, for messages. */
  inputFormat: z.string(),
  outputFormat: z.string(),
  parameters: parametersSchema,
  timeoutMs: z.number(),
});
export type ConversionRequest = Readonly<z.infer<typeof conversionRequestSchema>>;

/** Warning names, each with how to resolve it. */
export type Warnings = Record<string, string>;

/** What a process answers. `worn`: it must not convert again. */
export const conversionOutcomeSchema = z.intersection(
  z.object({ worn: z.boolean() }),
  z.discriminatedUnion('status', [
    z.object({ status: z.literal('successful'), bytes: z.number(), warnings: z.record(z.string(), z.string()) }),
    /** The input cannot be converted; the message is one line for its owner. */
    z.object({ status: z.literal('failed'), message: z.string() }),
    /** The machine failed (no space, no permission), not the input. */
    z.object({ status: z.literal('broken'), message: z.string() }),
  ]),
);
export type ConversionOutcome = z.infer<typeof conversionOutcomeSchema>;

/** A conversion result that still has to be written. */
export interface Converted {
  readonly data: Uint8Array;
  readonly warnings: Warnings;
}

/** A conversion result that a program has written, beside the input. */
export interface ConvertedFile {
  readonly file: string;
  readonly warnings: Warnings;
}

/** The input cannot be converted; the message is for the owner of the file. */
export class ConversionFailure extends Error {
  override readonly name = 'ConversionFailure';
}

/** What an engine says, on one line and short enough for a message. */
export function oneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > 300 ? `${line.slice(0, 297)}...` : line;
}

/** Loads an optional engine, or fails with what to install. */
export async function loadEngine<Module>(packageName: string, load: () => Promise<Module>): Promise<Module> {
  try {
    return await load();
  } catch (error) {
    const reason = oneLine(messageOf(error));
    throw new ConversionFailure(
      `The engine ${packageName} cannot be loaded. Run: npm install ${packageName} (${reason})`,
    );
  }
}
