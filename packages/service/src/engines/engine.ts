import type { EngineRequest, Converted, ConvertedFile, ParameterName } from './conversion';

/** Every engine, the first choice for a pair of formats before the others. */
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

/** Those that come with this package, as far as its optional dependencies are installed. */
export const engineNamesOfNpm = ['sharp', 'pdfium', 'sheets', 'pandoc', 'typst'] as const satisfies EngineName[];

export type EngineName = (typeof engineNames)[number];

/**
 * What converts files: packages of npm, or a program of the machine. One more is a name above, a row in
 * `engines-table.ts`, and a file that converts.
 */
export interface Engine {
  readonly name: EngineName;
  readonly title: string;
  readonly needs: readonly Need[];
  readonly families: readonly Family[];
  /** Called in a conversion process, which is killed when a conversion takes too long or too much memory. */
  readonly load: () => Promise<Convert>;
}

/** Every format that it reads converts to every format that it writes. */
export interface Family {
  readonly reads: Codecs;
  readonly writes: Codecs;
  readonly takes?: readonly ParameterName[];
  readonly needs?: readonly Need[];
}

/** Public names of formats, each with what the engine calls it. */
export type Codecs = ReadonlyMap<string, string>;

/** What has to be installed. */
export type Need = { readonly npm: string } | Program;

/** A program of the machine, and the package of Debian that brings it. */
export interface Program {
  readonly debian: string;
  readonly commands: readonly string[];
  /** Prints its version. Default: `--version`. */
  readonly versionFlag?: string;
  /** A file beside the program, where one program comes in several packages. */
  readonly beside?: string;
}

/** Throws a ConversionFailure when it is the input that cannot be converted. */
export type Convert = (request: EngineRequest) => Promise<Converted | ConvertedFile>;

/** `jpg=jpeg png`: the engine calls jpg "jpeg", and png as everybody does. */
export function codecs(names: string): Codecs {
  return new Map(
    names.split(/\s+/).map((name) => {
      const [format = name, own = format] = name.split('=');
      return [format, own];
    }),
  );
}
