import { messageOf } from '../shared/caught';
import {
  ConversionFailure,
  type ConversionRequest,
  type Converted,
  loadEngine,
  oneLine,
  type Warnings,
} from './conversion';
import { readInputText } from './input-text';
import { embedImages, plainTextDocument } from './pandoc-document';
import { pageWriters } from './table-document';
import { wearOut } from './wear';
import { requireArchive } from './zip-archive';

/** Formats that are zip archives: a damaged file usually is not one. */
const zipped = new Set(['docx', 'odt', 'epub', 'pptx', 'xlsx', 'ods']);

/** Tables are read here: pandoc knows only commas, cuts longer rows silently and leaves cells of spreadsheets empty. */
const tabular = new Set(['csv', 'tsv', 'xlsx', 'ods']);

/** Writers that put images into the file they write. */
const containers = new Set(['docx', 'odt', 'epub2', 'epub3', 'pptx', 'rtf', 'fb2', 'ipynb']);
/** Of these, the writers that fail on a missing image or drop it silently. */
const carelessContainers = new Set(['pptx', 'ipynb']);

/** Converts between document formats with pandoc. */
export async function convertDocument(request: ConversionRequest, input: Buffer): Promise<Converted> {
  const { writer } = request.route;
  if (pageWriters.has(writer)) return convertToPage(request, input);
  if (containers.has(writer)) return convertToContainer(request, input);
  // Only to learn which images the output cannot hold.
  const options = { standalone: true, 'extract-media': 'media' };
  const { data, media, warnings } = await readDocument(request, input, { to: writer, options });
  return { data, warnings: { ...warnings, ...describeLostImages(request, media) } };
}

async function convertToPage(request: ConversionRequest, input: Buffer): Promise<Converted> {
  const to = request.route.writer;
  try {
    // Looking for images takes pandoc twice as long.
    const options = { standalone: true, 'embed-resources': !tabular.has(request.route.reader) };
    return await readDocument(request, input, { to, options });
  } catch (error) {
    if (!isAbsolutePathFailure(error)) throw error;
    const { data, warnings } = await readDocument(request, input, { to, options: { standalone: true } });
    const message = 'The page refers to images by absolute paths, so none was embedded. Embed them as data: URIs.';
    return { data, warnings: { ...warnings, IMAGES_NOT_EMBEDDED: message } };
  }
}

async function convertToContainer(request: ConversionRequest, input: Buffer): Promise<Converted> {
  const to = request.route.writer;
  const options = { standalone: true };
  if (!carelessContainers.has(to)) return readDocument(request, input, { to, options });
  const read = await readDocument(request, input, { to: 'json', options: { 'extract-media': 'media' } });
  const { json, missing } = embedImages(Buffer.from(read.data).toString('utf8'), read.media);
  const written = await runPandoc({ from: 'json', to, input: json, inputName: inputNameFor(request), options });
  const warnings = { ...read.warnings, ...written.warnings };
  if (missing.length > 0) warnings['RESOURCE_NOT_FOUND'] = describeMissing(missing);
  return { data: written.data, warnings };
}

/** Embedding fails on an image with an absolute path, and only warns about one with a relative path. */
function isAbsolutePathFailure(error: unknown): boolean {
  return error instanceof ConversionFailure && error.message.includes('withBinaryFile: does not exist');
}

/** Reads the input of a conversion and writes it in the format that pandoc calls `to`. */
export async function readDocument(
  request: ConversionRequest,
  input: Buffer,
  { to, options }: { to: string; options: Record<string, unknown> },
): Promise<PandocOutput> {
  const { reader } = request.route;
  if (zipped.has(reader)) requireArchive(request, input);
  const prepared = await prepare(request, input, to);
  try {
    const { from } = prepared;
    const read = await runPandoc({ from, to, input: prepared.input, inputName: inputNameFor(request), options });
    return { ...read, warnings: { ...prepared.warnings, ...read.warnings } };
  } catch (error) {
    if (!(error instanceof ConversionFailure)) throw error;
    const { inputFormat, outputFormat } = request;
    throw new ConversionFailure(
      `The ${inputFormat} file could not be converted to ${outputFormat}: ${oneLine(error.message)}`,
    );
  }
}

interface Prepared {
  /** The reader of pandoc. */
  from: string;
  input: Buffer | string;
  warnings: Warnings;
}

/** What pandoc reads of an input: itself, its text (pandoc takes everything for UTF-8), or a document that is made of it here. */
async function prepare(
  { route: { reader }, inputFormat }: ConversionRequest,
  input: Buffer,
  writer: string,
): Promise<Prepared> {
  if (reader === 'xlsx' || reader === 'ods') {
    const { spreadsheetDocument } = await import('./spreadsheet.js');
    const { json, warnings } = await spreadsheetDocument(input, writer, reader);
    return { from: 'json', input: json, warnings };
  }
  if (zipped.has(reader)) return { from: reader, input, warnings: {} };
  const { text, warnings } = readInputText(input, inputFormat);
  if (reader === 'plain-text') return { from: 'json', input: plainTextDocument(text), warnings };
  if (!tabular.has(reader)) return { from: reader, input: text, warnings };
  const { separatedValuesDocument } = await import('./separated-values.js');
  const { json, warnings: more } = separatedValuesDocument(text, { reader, writer });
  return { from: 'json', input: json, warnings: { ...warnings, ...more } };
}

function describeLostImages({ outputFormat }: ConversionRequest, media: ReadonlyMap<string, unknown>): Warnings {
  if (media.size === 0) return {};
  return {
    IMAGES_LOST: `${media.size} image(s) of the document are not in the result, because a ${outputFormat} file cannot contain images. Convert to docx, odt, epub, html or pdf to keep them.`,
  };
}

/** Runs pandoc, whose WebAssembly has a file system of its own with nothing but the files of one run. */

interface PandocRun {
  from: string;
  to: string;
  input: Uint8Array | string;
  /** Name of the input in pandoc's file system; it becomes the title of a page that has none. */
  inputName: string;
  options?: Record<string, unknown>;
}

interface PandocOutput extends Converted {
  /** Images of the input, by the path under which the output names them; only with the option `extract-media`. */
  readonly media: ReadonlyMap<string, Uint8Array>;
}

const outputName = 'converted.output';

/** Runs pandoc once. Throws a ConversionFailure with pandoc's own words when it refuses the input. */
export async function runPandoc({ from, to, input, inputName, options = {} }: PandocRun): Promise<PandocOutput> {
  const pandoc = await loadEngine('pandoc-wasm', () => import('pandoc-wasm'));
  const allOptions = { from, to, 'input-files': [inputName], 'output-file': outputName, ...options };
  const files = { [inputName]: new Blob([typeof input === 'string' ? input : new Uint8Array(input)]) };
  const result = await runGuarded(() => pandoc.convert(allOptions, null, files));
  const error = /^ERROR: ([\s\S]*)/m.exec(result.stderr)?.[1];
  if (error !== undefined) throw new ConversionFailure(oneLine(error));
  const media = new Map<string, Uint8Array>();
  for (const [name, blob] of Object.entries(result.mediaFiles)) media.set(name, await bytesOf(blob));
  return {
    data: await bytesOf(result.files[outputName]),
    media,
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
    // Its WebAssembly has crashed.
    wearOut();
    const reason = oneLine(messageOf(error));
    throw new ConversionFailure(`The document is too large or too deeply nested for the engine (${reason}).`);
  }
}

async function bytesOf(blob: Blob | undefined): Promise<Uint8Array> {
  return blob ? new Uint8Array(await blob.arrayBuffer()) : new Uint8Array();
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
