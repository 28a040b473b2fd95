import { messageOf } from '../shared/caught';
import { ConversionFailure, loadEngine, oneLine, type Warnings } from './conversion';

/** Runs pandoc, whose WebAssembly has a file system of its own with nothing but the files of one run. */

interface PandocRun {
  from: string;
  to: string;
  input: Uint8Array | string;
  /** Name of the input in pandoc's file system; it becomes the title of a page that has none. */
  inputName: string;
  options?: Record<string, unknown>;
}

interface PandocOutput {
  output: Uint8Array;
  /** Images of the input, by the path under which the output names them; only with the option `extract-media`. */
  media: Map<string, Uint8Array>;
  warnings: Warnings;
}

const outputName = 'converted.output';

let broken = false;

/** Whether the WebAssembly instance of this process has crashed, so that its memory is in an unknown state. */
export function isPandocBroken(): boolean {
  return broken;
}

/** Runs pandoc once. Throws a ConversionFailure with pandoc's own words when it refuses the input. */
export async function runPandoc({ from, to, input, inputName, options = {} }: PandocRun): Promise<PandocOutput> {
  const pandoc = await loadEngine('pandoc-wasm', () => import('pandoc-wasm'));
  const allOptions = { from, to, 'input-files': [inputName], 'output-file': outputName, ...options };
  const files = { [inputName]: new Blob([typeof input === 'string' ? input : new Uint8Array(input)]) };
  const result = await runGuarded(() => pandoc.convert(allOptions, null, files));
  const error = /^ERROR: ([\s\S]*)/m.exec(result.stderr)?.[1];
  if (error !== undefined) throw new ConversionFailure(oneLine(error));
  return {
    output: await bytesOf(result.files[outputName]),
    media: await readMedia(result.mediaFiles),
    warnings: describeWarnings(result.warnings),
  };
}

/** The name in pandoc's file system: free of what pandoc reads as a URL, a path or standard input. */
export function inputNameFor({ title, inputFormat }: { title: string; inputFormat: string }): string {
  return `${title.replace(/[^\p{L}\p{N} ._-]/gu, '_')}.${inputFormat.split('-')[0] ?? 'input'}`;
}

async function runGuarded<Result>(run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    broken = true;
    const reason = oneLine(messageOf(error));
    throw new ConversionFailure(`The document is too large or too deeply nested for the engine (${reason}).`);
  }
}

async function bytesOf(blob: Blob | undefined): Promise<Uint8Array> {
  return blob ? new Uint8Array(await blob.arrayBuffer()) : new Uint8Array();
}

async function readMedia(files: Record<string, Blob>): Promise<Map<string, Uint8Array>> {
  const media = new Map<string, Uint8Array>();
  for (const [name, blob] of Object.entries(files)) media.set(name, await bytesOf(blob));
  return media;
}

/** Warnings of no use to the owner of a file. */
const ignoredWarnings = new Set(['NoTitleElement', 'NoLangSpecified', 'Deprecated']);

function describeWarnings(
  reports: readonly { type: string; verbosity: string; pretty: string; path?: string }[],
): Warnings {
  const warnings: Warnings = {};
  const missing: string[] = [];
  for (const report of reports) {
    if (report.verbosity !== 'WARNING' || ignoredWarnings.has(report.type)) continue;
    if (report.type === 'CouldNotFetchResource') missing.push(report.path ?? 'an image');
    else warnings[toWarningName(report.type)] ??= oneLine(report.pretty);
  }
  if (missing.length > 0) warnings['RESOURCE_NOT_FOUND'] = describeMissing(missing);
  return warnings;
}

/** One warning for all images that the document names but does not contain. */
export function describeMissing(names: readonly string[]): string {
  const unique = [...new Set(names.map((name) => (name.length > 60 ? `${name.slice(0, 57)}...` : name)))];
  const shown = unique.slice(0, 5).join(', ');
  const more = unique.length > 5 ? ` and ${unique.length - 5} more` : '';
  return oneLine(
    `Left out, because only the file itself is uploaded: ${shown}${more}. Embed images as data: URIs, or upload a format that contains them.`,
  );
}

function toWarningName(type: string): string {
  return type.replace(/([a-z0-9])([A-Z])/g, '$1_$2').toUpperCase();
}
