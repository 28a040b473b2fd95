import type { EngineRequest, Converted, ConvertedFile, ParameterName } from './conversion';

/** Every engine, in order of preference for a pair of formats. */
export const engineNames = [
  'libreoffice',
  'chromium',
  'sharp',
  'tesseract',
  'pdfium',
  'sheets',
  'pandoc',
  'typst',
  'ffmpeg',
] as const;

/** Engines made of npm packages, which are optional dependencies of this package. */
export const engineNamesOfNpm = ['sharp', 'pdfium', 'sheets', 'pandoc', 'typst'] as const satisfies EngineName[];

export type EngineName = (typeof engineNames)[number];

/**
 * An engine that converts files: npm packages, or a program of the machine. A new one needs a name above, a row in `engines-table.ts`,
 * and a file that converts.
 */
export interface Engine {
  readonly name: EngineName;
  readonly title: string;
  readonly needs: readonly Need[];
  readonly families: readonly Family[];
  /** Called in a conversion process, which is killed when a conversion takes too long or too much memory. */
  readonly load: () => Promise<Convert>;
}

/** Converts every format that it reads to every format that it writes. */
export interface Family {
  readonly reads: Codecs;
  readonly writes: Codecs;
  readonly takes?: readonly ParameterName[];
  readonly needs?: readonly Need[];
}

/** Public names of formats, each with the name that the engine uses. */
export type Codecs = ReadonlyMap<string, string>;

export type Need = { readonly npm: string } | Program;

/** A program of the machine, and the Debian package that contains it. */
export interface Program {
  readonly debian: string;
  readonly commands: readonly string[];
  /** Option that prints the version. Default: `--version`. */
  readonly versionFlag?: string;
  /** A file beside the program, if several packages share one program. */
  readonly beside?: string;
}

/** @throws ConversionFailure if the input cannot be converted. */
export type Convert = (request: EngineRequest) => Promise<Converted | ConvertedFile>;

/** `jpg=jpeg png`: the engine calls jpg "jpeg", and png "png". */
export function codecs(names: string): Codecs {
  return new Map(
    names.split(/\s+/).map((name) => {
      const [format = name, own = format] = name.split('=');
      return [format, own];
    }),
  );
}
