import type { Format } from 'temporal-file-conversion/contract';

/** A file and the target that is asked for. */
export interface FormatPair {
  /** Of the file, in lower case, without the dot. */
  extension: string;
  /** `--from`; without it the extension decides. */
  from: string | undefined;
  to: string;
}

/** Why a pair does not convert. */
export type PairProblem =
  | { kind: 'unknownInput' }
  | { kind: 'unknownOutput' }
  | { kind: 'unsupportedExtension' }
  /** `--from` names a format that files with this extension never have. */
  | { kind: 'extensionMismatch' }
  /** `missingPackages`: what would have to be installed, if that is all that is missing. */
  | { kind: 'noConverter'; missingPackages?: readonly string[] };

/** What a service converts, as the CLI asks before it starts anything. */
export interface FormatLookup {
  /** A target format; undefined when the service knows none of this name. */
  target(format: string): Promise<{ extension: string } | undefined>;
  /** Undefined when the pair converts. */
  problemOf(pair: FormatPair): Promise<PairProblem | undefined>;
  inputs(): Promise<Format[]>;
  /** All targets, or those of one input format; undefined when there is no such format. */
  targets(input?: string): Promise<Format[] | undefined>;
}

/** The name that `--to` and `--from` take: `md`, or `md-gfm` for a variant. */
export function nameOf({ format }: Format): string {
  return format;
}

/** The extension of a format whose service says nothing of it. */
export function extensionFromName(format: string): string {
  return format.split('-', 1)[0] ?? format;
}
