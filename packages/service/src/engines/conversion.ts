import { z } from 'zod';
import { messageOf } from '../shared/caught';
import { showBytes } from '../shared/limits';

/**
 * Optional parameters of a submit. Which of them apply depends on the engine and the output format; a request with any other is refused.
 */
export const parameterSchemas = {
  page_size: z.enum(['a3', 'a4', 'a5', 'letter', 'legal']).describe('size of the pages; default: a4'),
  margin: z.number().min(0).max(100).describe('margin of the pages, in millimetres'),
  quality: z.int().min(1).max(100).describe('quality of a picture that loses some to be small; default: 85'),
  dpi: z.int().min(30).max(600).describe('pixels per inch of a page; default: 150'),
  width: z.int().min(1).max(20_000).describe('width of a picture in pixels; its height follows'),
  // Clients send a single page as a number.
  pages: z
    .preprocess(
      (pages) => (Number.isInteger(pages) ? String(pages) : pages),
      z.string().regex(/^\d{1,5}(-\d{1,5})?(,\d{1,5}(-\d{1,5})?)*$/),
    )
    .describe('the pages to convert: `2`, `1-3`, `1,4-6`'),
  ocr_language: z
    .string()
    .regex(/^[a-zA-Z_]{3,20}(\+[a-zA-Z_]{3,20})*$/)
    .describe('language of the text in pictures, as Tesseract calls it: `eng`, `deu+fra`'),
};

export type ParameterName = keyof typeof parameterSchemas;

export const engineParameters = z.object(parameterSchemas).partial();
export type Parameters = z.infer<typeof engineParameters>;

/** In inches. */
export const papers: Readonly<Record<NonNullable<Parameters['page_size']>, readonly [width: number, height: number]>> =
  {
    a3: [11.69, 16.54],
    a4: [8.27, 11.69],
    a5: [5.83, 8.27],
    letter: [8.5, 11],
    legal: [8.5, 14],
  };

export const millimetresPerInch = 25.4;
export const pointsPerInch = 72;

/** Zero-based indexes of the pages that `pages` selects, each once and ascending; empty if the document has none of them. */
export function choosePages(pages: string | undefined, count: number): number[] {
  const all = Array.from({ length: count }, (_, index) => index);
  if (pages === undefined) return all;
  const ranges = pages.split(',').map((range) => range.split('-').map(Number));
  return all.filter((index) => ranges.some(([first = 0, last = first]) => index + 1 >= first && index + 1 <= last));
}

/** The request to a conversion process; files travel by path. */
export const conversionRequestSchema = z.object({
  route: z.object({ engine: z.string(), reader: z.string(), writer: z.string() }),
  inputPath: z.string(),
  /** Where the process writes the output; fsynced before it answers. */
  outputPath: z.string(),
  /** Name of the source without its extension; becomes the title of a document that has none. */
  title: z.string(),
  inputFormat: z.string(),
  outputFormat: z.string(),
  parameters: engineParameters,
  timeoutMs: z.number(),
});
export type EngineRequest = Readonly<z.infer<typeof conversionRequestSchema>>;

/** Advice on how to resolve each warning, by its name. */
export type Warnings = Record<string, string>;

/** Merges warnings; different messages under one name are joined. */
export function joinWarnings(...all: readonly Warnings[]): Warnings {
  const joined: Warnings = {};
  for (const [name, message] of all.flatMap((each) => Object.entries(each))) {
    const earlier = joined[name];
    joined[name] = earlier === undefined || earlier === message ? message : `${earlier} ${message}`;
  }
  return joined;
}

/**
 * Ends of a conversion that the machine may have caused, each with the number of attempts before it is reported as a failure of the
 * conversion or of the service.
 */
export const triesByEnd = { killed: 5, crashed: 2, timedOut: 2 } as const;

/** The answer of a process. `worn`: the process must not convert again. */
export const conversionOutcomeSchema = z.intersection(
  z.object({ retired: z.boolean(), end: z.enum(['killed', 'crashed', 'timedOut']).optional() }),
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

/** A conversion result that a program has already written, beside the input. */
export interface ConvertedFile {
  readonly file: string;
  readonly warnings: Warnings;
}

/** The input cannot be converted; the message is for the owner of the file. */
export class ConversionFailure extends Error {
  override readonly name = 'ConversionFailure';
}

export function wroteTooMuch(maxBytes: number): string {
  return `The conversion writes more than the ${showBytes(maxBytes)} that it may: the result would be too large. Split the file, or make it smaller.`;
}

/** A program was killed from outside. Our own limits, and the end of the service, kill the whole conversion process instead. */
export class ProgramKilled extends Error {
  override readonly name = 'ProgramKilled';
}

/** A message of an engine, on one line and short enough for an answer. */
export function oneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > 300 ? `${line.slice(0, 297)}...` : line;
}

export function failureReason(error: unknown): string {
  return oneLine(messageOf(error));
}

export function fewOf(names: readonly string[]): string {
  return names.slice(0, 5).join(', ') + (names.length > 5 ? ` and ${names.length - 5} more` : '');
}

/** One warning for all images that the document references but does not contain. */
export function describeMissing(names: readonly string[]): Warnings {
  if (names.length === 0) return {};
  const unique = new Set(names.map((name) => (name.length > 60 ? `${name.slice(0, 57)}...` : name)));
  const message = `Left out, because only the file itself is uploaded: ${fewOf([...unique])}. Put what they hold into it (images as data: URIs), or upload a format that contains them.`;
  return { RESOURCE_NOT_FOUND: oneLine(message) };
}

/** Loads an optional engine. @throws ConversionFailure that says what to install. */
export async function loadEngine<Module>(packageName: string, load: () => Promise<Module>): Promise<Module> {
  try {
    return await load();
  } catch (error) {
    throw new ConversionFailure(
      `The engine ${packageName} cannot be loaded. Run: npm install ${packageName} (${failureReason(error)})`,
    );
  }
}

let retired = false;

/** Bars this process from converting another file, because its state is unknown or because it has been used for long. */
export function retire(): void {
  retired = true;
}

export function isRetired(): boolean {
  return retired;
}
