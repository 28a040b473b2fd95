import type { PandocWarning } from 'pandoc-wasm';
import {
  describeMissing,
  ConversionFailure,
  type EngineRequest,
  type Converted,
  joinWarnings,
  loadEngine,
  fewOf,
  oneLine,
  failureReason,
  type Warnings,
  retire,
} from './conversion';
import { entriesOf, textOfPart, withEntries } from './archive';
import { describeHidden, describeUnread, describeUnset } from './completeness';
import { describeLostPictures, type Pictures, takenPictures } from './documents/document-pictures';
import { withoutHiddenElements } from './html/hidden-html';
import { describeGenerated, readableBook, readablePage } from './html/html-page';
import { count, readInputText, requireArchive } from './input';
import { describeCommands, readableLatex } from './documents/latex';
import { keepsHtml, mediaTag, readMarkdown } from './documents/markdown';
import { readNotebook } from './documents/notebook';
import { withWholePipeTables, withWholeWikiTables } from './documents/markup-tables';
import {
  describeBrokenPictures,
  describeLostMedia,
  describeMedia,
  filmsOf,
  isDamaged,
} from './documents/office-pictures';
import { readableOpenText, readableSlides } from './office/office-texts';
import { breakStyle, plainTextDocument } from './documents/plain-text';
import { embedImages, type Node, type PandocRun, pageWriters, part } from './documents/pandoc-document';
import { filterFor } from './documents/pandoc-filter';
import { loadPandoc } from './documents/pandoc-start';
import { withListNumbers, withNotes, withoutDeleted, withUnicodeLetters } from './office/rtf-text';
import { readableWord } from './office/word-document';
import { withUsualNames } from './office/xml-names';

/** Formats that are zip archives: a damaged file usually is not one. */
const zipped = new Set(['docx', 'odt', 'epub', 'pptx', 'xlsx', 'ods']);

/** Rewrites archives so that pandoc drops no text and shows nothing hidden. */
const readableParts: Readonly<Record<string, (archive: Buffer) => Buffer>> = {
  docx: readableWord,
  epub: readableBook,
  odt: readableOpenText,
  pptx: readableSlides,
};

/** Tables are read here: pandoc knows only commas, silently cuts longer rows and leaves cells of spreadsheets empty. */
const tabular = new Set(['csv', 'tsv', 'xlsx', 'ods']);

const containers = new Set(['docx', 'odt', 'epub2', 'epub3', 'rtf']);
/** More containers; their writers fail on a missing image, drop it silently, or embed a kind that programs do not show. */
const carelessContainers = new Set(['pptx', 'ipynb', 'fb2']);

/** Kinds of pictures that the programs for a format show; PowerPoint shows nearly all. */
const picturesOfPages = ['png', 'jpg', 'gif', 'webp', 'svg'] as const;
const shownPictures: Readonly<Record<string, readonly string[]>> = {
  ...{ fb2: ['png', 'jpg'], ipynb: picturesOfPages, html4: picturesOfPages, html5: picturesOfPages },
  ...{ epub2: ['png', 'jpg', 'gif', 'svg'], epub3: picturesOfPages },
};
/** Names of pictures in documents that no browser shows. */
const oddPicture = /\.(tiff?|bmp|dib|[ew]m[fz]|pcx|pict)$/i;

export async function convertDocument(request: EngineRequest, input: Buffer): Promise<Converted> {
  const { writer: to } = request.route;
  const standalone = { standalone: true };
  const isOdd = to in shownPictures && entriesOf(input).some(({ name }) => oddPicture.test(name));
  if (isOdd || carelessContainers.has(to)) return convertWithImages(request, input);
  if (pageWriters.has(to)) return convertToPage(request, input);
  if (containers.has(to)) return readDocument(request, input, { to, options: standalone });
  // The option only reveals which images the output cannot hold.
  const options = { ...standalone, 'extract-media': 'media' };
  const { data, media, warnings } = await readDocument(request, input, { to, options });
  // Damaged pictures of a document have a warning of their own.
  const isNamed = entriesOf(input).length > 0;
  const pictures = [...media].filter(([name, each]) => !isNamed || !isDamaged(name, Buffer.from(each))).length;
  if (pictures === 0) return { data, warnings };
  const message = `${pictures} image(s) of the document are not in the result, because a ${request.outputFormat} file cannot contain images. Convert to docx, odt, epub, html or pdf to keep them.`;
  return { data, warnings: joinWarnings(warnings, { IMAGES_LOST: message }) };
}

async function convertToPage(request: EngineRequest, input: Buffer): Promise<Converted> {
  const to = request.route.writer;
  try {
    // Embedding makes pandoc take twice as long.
    const options = { standalone: true, 'embed-resources': !tabular.has(request.route.reader) };
    return await readDocument(request, input, { to, options });
  } catch (error) {
    // Embedding fails on an image with an absolute path, and only warns about one with a relative path.
    if (!(error instanceof ConversionFailure) || !error.message.includes('withBinaryFile: does not exist')) throw error;
    const { data, warnings } = await readDocument(request, input, { to, options: { standalone: true } });
    const message =
      'No image was embedded, because the page refers to one by an absolute path; the page still refers to all of them. Embed them as data: URIs.';
    return { data, warnings: { ...warnings, IMAGES_NOT_EMBEDDED: message } };
  }
}

async function convertWithImages(request: EngineRequest, input: Buffer): Promise<Converted> {
  const read = await readDocument(request, input, { to: 'json', options: { 'extract-media': 'media' } });
  const to = request.route.writer;
  const none: Pictures = { media: read.media, lost: new Set() };
  const shown = shownPictures[to];
  const { media, lost } = shown === undefined ? none : await takenPictures(read.media, shown);
  const { json, missing } = embedImages(Buffer.from(read.data).toString('utf8'), media);
  const options = { standalone: true };
  const written = await runPandoc({ from: 'json', to, input: json, inputName: inputNameFor(request), options });
  const gone = { ...describeMissing(missing.filter((name) => !lost.has(name))), ...describeLostPictures(lost) };
  const unwritten = to === 'pptx' ? describeUnset(json, written.data) : {};
  return { data: written.data, warnings: joinWarnings({ ...read.warnings, ...written.warnings, ...gone }, unwritten) };
}

/** Reads the input of a conversion and writes it in the format that pandoc calls `to`. */
export async function readDocument(
  request: EngineRequest,
  input: Buffer,
  { to, options }: { to: string; options: Record<string, unknown> },
): Promise<PandocOutput> {
  const { reader } = request.route;
  if (zipped.has(reader)) requireArchive(request, input);
  const { warnings, ...prepared } = await prepare(request, input, to);
  try {
    const inputName = inputNameFor(request);
    const filter = filterFor(request.route);
    const read = await runPandoc({ ...prepared, to, inputName, options, filter });
    const readAgain = async () => {
      const { data } = to === 'json' ? read : await runPandoc({ ...prepared, to: 'json', inputName });
      return Buffer.from(data).toString('utf8');
    };
    const data = to === 'odt' && reader === 'plain-text' ? withBreakStyle(read.data) : read.data;
    const unread = await describeUnread(request, input, { output: read.data, readAgain });
    // Bibliographies hold no text. Line-based writers drop whole tables: some leave a mark in their text, `vimdoc` nothing.
    const isDoubtful = /^(biblatex|bibtex|csljson|vimdoc)$/.test(to) || Buffer.from(read.data).includes('[TABLE]');
    const unset = isDoubtful ? describeUnset(await readAgain(), read.data) : {};
    const written = Buffer.from(read.data);
    const pictures = describeBrokenPictures(entriesOf(input).length > 0 ? input : written);
    const aside = { ...read.warnings, ...pictures, ...describeLostMedia(input, written) };
    return { ...read, data, warnings: joinWarnings(warnings, aside, unset, unread) };
  } catch (error) {
    if (!(error instanceof ConversionFailure)) throw error;
    const { inputFormat, outputFormat } = request;
    throw new ConversionFailure(
      `The ${inputFormat} file could not be converted to ${outputFormat}: ${oneLine(error.message)}`,
    );
  }
}

function withBreakStyle(odt: Uint8Array): Uint8Array {
  const archive = Buffer.from(odt);
  const styled = textOfPart(archive, 'content.xml').replace(
    /<office:automatic-styles\s*\/>|<\/office:automatic-styles>/,
    (tag) =>
      tag.startsWith('</') ? breakStyle + tag : `<office:automatic-styles>${breakStyle}</office:automatic-styles>`,
  );
  return withEntries(archive, new Map([['content.xml', styled]]));
}

/** The input as pandoc gets it: the file itself, its text (pandoc assumes UTF-8), or a document built from it here. */
async function prepare(
  { route: { reader }, title, inputFormat }: EngineRequest,
  input: Buffer,
  writer: string,
): Promise<Pick<PandocRun, 'from' | 'input'> & { warnings: Warnings }> {
  if (reader === 'xlsx' || reader === 'ods') {
    const { spreadsheetDocument } = await import('./sheets/spreadsheet.js');
    const { json, warnings } = await spreadsheetDocument(input, writer, reader);
    return { from: 'json', input: json, warnings };
  }
  const readable = readableParts[reader] ?? ((archive: Buffer) => archive);
  if (zipped.has(reader)) return { from: reader, input: readable(withUsualNames(input)), warnings: {} };
  const { text, warnings } = readInputText(input, inputFormat);
  if (reader === 'html') {
    const { html, hidden } = withoutHiddenElements(text);
    const media = keepsHtml.test(writer) ? 0 : count(html, mediaTag);
    const lost = joinWarnings(describeGenerated(text), describeMedia(media));
    return {
      from: reader,
      input: html,
      warnings: joinWarnings(warnings, lost, describeHidden({ hidden, hiddenSlideCount: 0 })),
    };
  }
  if (reader === 'latex') return { from: reader, input: readableLatex(text), warnings };
  if (reader === 'rtf') {
    const read = withListNumbers(withUnicodeLetters(withoutDeleted(withNotes(text))));
    return { from: reader, input: read, warnings };
  }
  if (reader === 'plain-text') return { from: 'json', input: plainTextDocument(text, writer), warnings };
  const how = { writer, inputName: inputNameFor({ title, inputFormat }), run: runPandoc };
  const holdsHtml = /^(github-markdown|gfm|markdown|commonmark|org)/.test(reader);
  if (holdsHtml || reader === 'ipynb') {
    const whole = /^(commonmark|org)$/.test(reader) ? text : withWholePipeTables(text);
    const read = await (holdsHtml ? readMarkdown(whole, { reader, ...how }) : readNotebook(text, how));
    return { ...read, warnings: joinWarnings(warnings, read.warnings) };
  }
  if (reader === 'mediawiki') return { from: reader, input: withWholeWikiTables(text), warnings };
  if (reader === 'rst') {
    const whole = await withListBelowTitle({ from: reader, to: 'json', input: text, inputName: how.inputName });
    const read = await readMarkdown(Buffer.from(whole.input).toString(), { reader: whole.from, ...how });
    return { ...read, warnings: joinWarnings(warnings, whole.warnings, read.warnings) };
  }
  if (!tabular.has(reader)) return { from: reader, input: text, warnings };
  const { separatedValuesDocument } = await import('./sheets/separated-values.js');
  const { json, warnings: more } = separatedValuesDocument(text, { reader, writer });
  return { from: 'json', input: json, warnings: joinWarnings(warnings, more) };
}

/** pandoc takes a definition list at the start, or below the title, for metadata, which hardly any writer shows. */
async function withListBelowTitle(run: PandocRun): Promise<Pick<PandocRun, 'from' | 'input'> & { warnings: Warnings }> {
  const asIs = await runPandoc(run);
  const { blocks } = JSON.parse(Buffer.from(asIs.data).toString('utf8')) as { blocks: Node[] };
  if (blocks.find(({ t }) => t !== 'Header')?.t !== 'DefinitionList') return { ...run, warnings: {} };
  const headings = blocks.filter((block) => block.t === 'Header' && part(block, 0) === 1);
  const isTitled = headings.length === 1 && headings[0] === blocks[0];
  const { data, warnings } = isTitled ? await runPandoc({ ...run, options: { 'shift-heading-level-by': -1 } }) : asIs;
  return { from: 'json', input: data, warnings };
}

interface PandocOutput extends Converted {
  /** Images of the input, by the path under which the output names them; only with the option `extract-media`. */
  readonly media: ReadonlyMap<string, Uint8Array>;
}

const outputName = 'converted.output';
const filterName = 'converted.lua';

/** Runs pandoc once. @throws ConversionFailure with pandoc's own message if it refuses the input. */
export async function runPandoc({
  from,
  to,
  input,
  inputName,
  options = {},
  filter,
}: PandocRun): Promise<PandocOutput> {
  const pandoc = await loadEngine('pandoc-wasm', loadPandoc);
  const allOptions = {
    ...{ from, to, 'input-files': [inputName], 'output-file': outputName, ...options },
    // MathML, so that pages show formulas as formulas.
    ...(/^(html5|epub3|revealjs|slidy)$/.test(to) && { 'html-math-method': { method: 'mathml' } }),
    // Reports what pandoc skips of LaTeX; for HTML it would report every tag.
    ...(!/^(html|epub)$/.test(from) && { verbosity: 'INFO' }),
    ...(filter !== undefined && { filters: [filterName] }),
  };
  const read = from === 'html' && typeof input === 'string' ? readablePage(input) : input;
  const files = { [inputName]: new Blob([typeof read === 'string' ? read : new Uint8Array(read)]) };
  if (filter !== undefined) files[filterName] = new Blob([filter]);
  const result = await pandoc.convert(allOptions, null, files).catch((error: unknown) => {
    retire();
    throw new ConversionFailure(
      `The document is too large or too deeply nested for the engine (${failureReason(error)}).`,
    );
  });
  const error = /^ERROR: ([\s\S]*)/m.exec(result.stderr)?.[1];
  if (error !== undefined) throw new ConversionFailure(oneLine(error));
  const media = new Map<string, Uint8Array>();
  for (const [name, blob] of Object.entries(result.mediaFiles)) media.set(name, await bytesOf(blob));
  const data = await bytesOf(result.files[outputName]);
  // Films in a book have a warning of their own.
  const films = from === 'epub' && typeof read !== 'string' ? filmsOf(Buffer.from(read)) : [];
  const isFilm = ({ path }: PandocWarning) => path !== undefined && films.some((name) => name.endsWith(path));
  const reports = result.warnings.filter((each) => !isFilm(each));
  const [before] = from === 'latex' && typeof input === 'string' ? input.split('\\begin{document}', 1) : [''];
  const beginsInLine = before === input ? 0 : (before ?? '').split('\n').length;
  return { data, media, warnings: describeWarnings(reports, from, beginsInLine) };
}

/** The name in pandoc's file system, without anything that pandoc reads as a URL, a path or standard input. */
export function inputNameFor({ title, inputFormat }: { title: string; inputFormat: string }): string {
  return `${title.replace(/[^\p{L}\p{N} ._-]/gu, '_')}.${inputFormat.split('-')[0] ?? 'input'}`;
}

async function bytesOf(blob: Blob | undefined): Promise<Uint8Array> {
  return blob ? new Uint8Array(await blob.arrayBuffer()) : new Uint8Array();
}

/** Warnings of no use to the owner of a file. */
const ignoredWarnings = new Set(['NoTitleElement', 'NoLangSpecified', 'Deprecated']);

function describeWarnings(reports: readonly PandocWarning[], from: string, beginsInLine: number): Warnings {
  const warnings = describeCommands(
    from === 'latex' ? reports : reports.filter(({ type }) => type !== 'SkippedContent'),
    beginsInLine,
  );
  const [missing, templates]: [string[], string[]] = [[], []];
  const more = new Map<string, number>();
  let [unknown, vectors] = [0, 0];
  for (const report of reports) {
    if (report.verbosity !== 'WARNING' || ignoredWarnings.has(report.type)) continue;
    const name = report.type
      .replace('TeX', 'Tex')
      .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
      .toUpperCase();
    const isUnknown = report.pretty.includes('image is not a jpeg or png');
    // Reported by our Lua filter.
    if (report.type === 'ScriptingWarning') templates.push(report.message ?? '');
    else if (report.type === 'CouldNotConvertImage') vectors += 1;
    else if (report.type === 'CouldNotFetchResource' && isUnknown) unknown += 1;
    else if (/^CouldNot(FetchResource|LoadIncludeFile)$/.test(report.type)) missing.push(report.path ?? 'an image');
    else if (warnings[name] === undefined) warnings[name] = oneLine(report.pretty);
    else more.set(name, (more.get(name) ?? 0) + 1);
  }
  for (const [name, times] of more) warnings[name] = `${warnings[name] ?? ''} (and ${times} more)`;
  const withText = templates.filter((each) => each.startsWith('{{') && each.includes('|'));
  if (withText.length > 0) {
    const names = new Set(withText.map((each) => `${each.split(/[|\n]/, 1)[0]?.trim()}}}`));
    warnings['TEMPLATES_LOST'] =
      `${withText.length} template(s) of a wiki are not in the result, nor is the text in them: ${fewOf([...names])}. Convert the page that the wiki shows, saved as html.`;
  }
  if (vectors > 0) {
    warnings['COULD_NOT_CONVERT_IMAGE'] =
      `${vectors} picture(s) are in the result as SVG alone, which older programs (Word before 2016) do not show. Put PNG in their place, or convert to html or pdf.`;
  }
  if (unknown > 0) {
    warnings['IMAGES_LOST'] =
      `${unknown} picture(s) of the document are not in the result, because a file of its format can hold only PNG and JPEG. Put these in their place, or convert to docx, html or pdf.`;
  }
  return { ...warnings, ...describeMissing(missing) };
}
