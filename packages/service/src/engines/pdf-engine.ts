import path from 'node:path';
import type { NodeCompiler } from '@myriaddreamin/typst-ts-node-compiler';
import type { Metadata } from 'sharp';
import { z } from 'zod';
import { messageOf } from '../shared/caught';
import {
  ConversionFailure,
  type ConversionRequest,
  type Converted,
  loadEngine,
  oneLine,
  type Parameters,
  type Warnings,
} from './conversion';
import { describeMissing, inputNameFor, readDocument, runPandoc } from './pandoc-engine';
import { type PdfDocument, preparePdfDocument } from './pdf-document';

const diagnosticsSchema = z.array(z.object({ message: z.string() }));

/** Rounds of typst's global cache that an unused result survives. */
const cacheRounds = 10;

/** typst reads only files below its workspace. This folder does not exist: all it contains are the images mapped into it. */
const workspace = path.join(__dirname, 'typst-workspace');

let typesetter: NodeCompiler | undefined;

/** Without the time of its making, the same document becomes the same bytes each time. */
const undated = '#set document(date: none)\n';

/** Makes a PDF: pandoc reads the document, typst typesets it. */
export async function convertToPdf(request: ConversionRequest, input: Buffer): Promise<Converted> {
  const read = await readDocument(request, input, { to: 'json', options: { 'extract-media': 'media' } });
  const json = Buffer.from(read.data).toString('utf8');
  const document = preparePdfDocument(json, { media: read.media, keepReferences: true });
  const written = await writeTypst(document, inputNameFor(request), request.parameters);
  const warnings: Warnings = { ...read.warnings, ...written.warnings, ...describeMissing(document.missing) };
  const first = await typeset(written.source, document.images);
  if (first.pdf) return { data: first.pdf, warnings };

  // One broken image or label makes typst fail: better a PDF without them than none.
  const simple = preparePdfDocument(json, { media: new Map(), keepReferences: false });
  const rewritten = await writeTypst(simple, inputNameFor(request), request.parameters);
  const second = await typeset(rewritten.source, simple.images);
  if (!second.pdf) throw new ConversionFailure(`The document could not be typeset as PDF: ${oneLine(second.reason)}`);
  warnings['PDF_SIMPLIFIED'] =
    `Images and links within the document were left out, because it does not typeset with them: ${oneLine(first.reason)}`;
  return { data: second.pdf, warnings };
}

/** `reason`: why there is no PDF. */
async function typeset(
  source: string,
  images: ReadonlyMap<string, Uint8Array>,
): Promise<{ pdf?: Uint8Array; reason: string }> {
  const compiler = await loadTypesetter();
  compiler.resetShadow();
  for (const [name, data] of images) compiler.mapShadow(path.join(workspace, name), Buffer.from(data));
  try {
    const compiled = compiler.compile({ mainFileContent: undated + source });
    if (!compiled.result) {
      const error = compiled.takeDiagnostics();
      const messages = error ? diagnosticsSchema.parse(compiler.fetchDiagnostics(error)) : [];
      return { reason: messages.map(({ message }) => message).join('; ') || 'typst gives no reason' };
    }
    return { pdf: compiler.pdf(compiled.result), reason: '' };
  } catch (error) {
    return { reason: messageOf(error) };
  } finally {
    compiler.resetShadow();
    compiler.evictCache(cacheRounds);
  }
}

/** One compiler a process: it keeps fonts loaded, so that a second PDF takes milliseconds. */
async function loadTypesetter(): Promise<NodeCompiler> {
  if (!typesetter) {
    const { NodeCompiler: compilers } = await loadEngine(
      '@myriaddreamin/typst-ts-node-compiler',
      () => import('@myriaddreamin/typst-ts-node-compiler'),
    );
    typesetter = compilers.create({ workspace });
  }
  return typesetter;
}

const placeholder = 'thetextofthedocument';

/** What pandoc writes before and after the text of a document without metadata, by what it is asked for: always the same. */
const frames = new Map<string, { before: string; after: string }>();

/** The page that is asked for, as pandoc's template for typst wants it. */
function layoutOf({ page_size: size = 'a4', margin }: Parameters) {
  const variables = {
    papersize: paperOf(size),
    ...(margin !== undefined && { margin: { x: `${margin}mm`, y: `${margin}mm` } }),
  };
  return { standalone: true, variables };
}

/**
 * Writes a document as typst source. For a page of text, pandoc spends most of its time on the template, which depends on nothing
 * but metadata: without metadata, the text is put into a frame that is made once.
 */
export async function writeTypst(
  document: PdfDocument,
  inputName: string,
  parameters: Parameters = {},
): ReturnType<typeof run> {
  const layout = layoutOf(parameters);
  if (document.hasMetadata) return run(document.json, inputName, layout);
  const key = JSON.stringify(layout);
  const frame = frames.get(key) ?? (await makeFrame(document, inputName, layout));
  frames.set(key, frame);
  const { source, warnings } = await run(document.json, inputName, {});
  return { source: frame.before + source.replace(/\n$/, '') + frame.after, warnings };
}

async function makeFrame({ json }: PdfDocument, inputName: string, layout: Record<string, unknown>) {
  const blocks = [{ t: 'Para', c: [{ t: 'Str', c: placeholder }] }];
  const { source } = await run(JSON.stringify({ ...(JSON.parse(json) as object), blocks }), inputName, layout);
  const [before = '', after = ''] = source.split(placeholder);
  return { before, after };
}

async function run(json: string, inputName: string, options: Record<string, unknown>) {
  const { data, warnings } = await runPandoc({ from: 'json', to: 'typst', input: json, inputName, options });
  return { source: Buffer.from(data).toString('utf8'), warnings };
}

const pointsPerInch = 72;
const millimetresPerInch = 25.4;
/** Of a picture that does not say how large it is on paper. */
const usualDensity = 96;

/** A PDF with a page for each picture of a file: as large as the picture, or of a size that is asked for. */
export async function picturesToPdf(
  { parameters, title }: ConversionRequest,
  input: Buffer,
  metadata: Metadata,
): Promise<Uint8Array> {
  const { default: sharp } = await loadEngine('sharp', () => import('sharp'));
  const images = new Map<string, Uint8Array>();
  const pages: string[] = [];
  for (let page = 0; page < (metadata.pages ?? 1); page += 1) {
    // What needs no change keeps every bit.
    const isJpeg = metadata.format === 'jpeg' && (metadata.orientation ?? 1) === 1;
    const name = `${page}.${isJpeg ? 'jpg' : 'png'}`;
    const { data, info } = isJpeg
      ? { data: input, info: metadata }
      : await sharp(input, { page }).autoOrient().png({ compressionLevel: 6 }).toBuffer({ resolveWithObject: true });
    images.set(name, data);
    pages.push(pageOf(name, info, { density: metadata.density, parameters }));
  }
  const { pdf, reason } = await typeset(
    [`#set document(title: ${JSON.stringify(title)})`, ...pages].join('\n'),
    images,
  );
  if (pdf) return pdf;
  throw new ConversionFailure(`The picture could not be put into a PDF: ${oneLine(reason)}`);
}

function pageOf(
  name: string,
  { width, height }: { width: number; height: number },
  { density = usualDensity, parameters }: { density?: number | undefined; parameters: Parameters },
): string {
  const margin = ((parameters.margin ?? 0) / millimetresPerInch) * pointsPerInch;
  if (parameters.page_size !== undefined) {
    const paper = paperOf(parameters.page_size);
    return `#page(paper: "${paper}", flipped: ${width > height}, margin: ${margin}pt)[#align(center + horizon, image("${name}", width: 100%, height: 100%, fit: "contain"))]`;
  }
  const points = (pixels: number) => (pixels / Math.max(density, usualDensity / 2)) * pointsPerInch + 2 * margin;
  return `#page(width: ${points(width)}pt, height: ${points(height)}pt, margin: ${margin}pt)[#image("${name}", width: 100%, height: 100%)]`;
}

/** As typst calls it. */
function paperOf(size: NonNullable<Parameters['page_size']>): string {
  return size.replace(/^(?=letter|legal)/, 'us-');
}
