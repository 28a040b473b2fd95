import { entriesOf, textOfEntry } from './archive';
import { ConversionFailure, type EngineRequest, type Warnings } from './conversion';
import type { Engine } from './engine';
import { formatRows } from './formats-table';
import { readInput } from './input';

/** Detects the format of a file by its contents, because many have a wrong extension. */

const starts: readonly (readonly [format: string, start: RegExp])[] = [
  ['pdf', /^[^]{0,100}%PDF-/],
  ['rtf', /^\s*\{\\rt/],
  ['png', /^\x89PNG/],
  ['jpg', /^\xff\xd8\xff/],
  ['gif', /^GIF8/],
  ['tiff', /^(II\*\0|MM\0\*)/],
  ['webp', /^RIFF....WEBP/],
];
const page = /^(\xef\xbb\xbf)?\s*(<!doctype html|<html)/i;
/** Contents of files that exporting programs name like old Office formats. */
const texts: readonly (readonly [format: string, text: RegExp])[] = [
  ['xml', /^(\xef\xbb\xbf)?\s*<\?xml/],
  ['mht', /^MIME-Version:/i],
  ['tsv', /^(?=[^]*\t)(\xff\xfe[^]*|[\t\n\f\r -\xff]*)$/],
  ['txt', /^[\t\n\f\r -\xff]+$/],
];
/** Formats in the container of older programs, by the name of their main stream. */
const streams: readonly (readonly [format: string, name: string])[] = [
  ['doc', 'WordDocument'],
  ['xls', 'Workbook'],
  ['ppt', 'PowerPoint Document'],
];
const folders: readonly (readonly [format: string, name: RegExp])[] = [
  ['docx', /^word\/document\d*\.xml$/],
  ['xlsx', /^xl\/workbook\d*\.(xml|bin)$/],
  ['pptx', /^ppt\/presentation\d*\.xml$/],
];
const mediaTypes: readonly (readonly [format: string, type: RegExp])[] = [
  ['odt', /opendocument\.text/],
  ['ods', /opendocument\.spreadsheet/],
  ['odp', /opendocument\.presentation/],
  ['epub', /epub\+zip/],
];
const pictures = new Set(['avif', 'gif', 'jpg', 'png', 'svg', 'tiff', 'webp']);
const binary = new Set([
  'pdf',
  'rtf',
  'epub',
  ...[streams, folders, mediaTypes].flatMap((kinds) => kinds.map(([kind]) => kind)),
]);

/** The name of a format, or undefined for contents without a signature, such as most texts. */
export function fileKindOf(input: Buffer, inputFormat: string): string | undefined {
  const head = input.toString('latin1', 0, 512);
  const started = starts.find(([, start]) => start.test(head))?.[0];
  if (started !== undefined) return started;
  if (head.startsWith('\xd0\xcf\x11\xe0')) return streams.find(([, name]) => input.includes(name, 0, 'utf16le'))?.[0];
  if (!head.startsWith('PK')) {
    if (binary.has(inputFormat) && page.test(head)) return 'html';
    return streams.some(([named]) => named === inputFormat)
      ? texts.find(([, text]) => text.test(head))?.[0]
      : undefined;
  }
  const entries = entriesOf(input);
  const folder = folders.find(([, name]) => entries.some((entry) => name.test(entry.name)));
  if (folder) return folder[0];
  const mimetype = entries.find(({ name }) => name === 'mimetype');
  const type = (mimetype && textOfEntry(input, mimetype)) ?? '';
  return mediaTypes.find(([, mediaType]) => mediaType.test(type))?.[0];
}

/** A request for the real format of its file, if the engine reads that. @throws ConversionFailure that names the format. */
export async function asItIs(
  request: EngineRequest,
  engine: Pick<Engine, 'families' | 'name'>,
): Promise<{ request: EngineRequest; warnings: Warnings }> {
  const same = { request, warnings: {} };
  const [named = ''] = request.inputFormat.split('-');
  // FFmpeg and sharp detect formats themselves, and films are too large to be read here.
  if (engine.name === 'ffmpeg' || pictures.has(named)) return same;
  const kind = fileKindOf(await readInput(request), named);
  if (kind === undefined || kind === named || (!binary.has(named) && !binary.has(kind) && !pictures.has(kind)))
    return same;
  const { writer } = request.route;
  const family = engine.families.find(
    ({ reads, writes }) => reads.has(kind) && Array.from(writes.values()).includes(writer),
  );
  const title = formatRows.find(({ name }) => name === kind)?.title;
  if (!family) {
    throw new ConversionFailure(
      `The file is named ${named}, but it is of the format ${kind}${title === undefined ? '' : ` (${title})`}. Correct its extension and convert it again.`,
    );
  }
  const warnings = {
    INPUT_IS_ANOTHER_FORMAT: `The file is named ${named} but holds ${kind}; it was converted all the same. Correct its extension.`,
  };
  const route = { ...request.route, reader: family.reads.get(kind) ?? kind };
  return { request: { ...request, inputFormat: kind, route }, warnings };
}
