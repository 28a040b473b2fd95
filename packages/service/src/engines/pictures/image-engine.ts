import type { Metadata, Sharp } from 'sharp';
import {
  ConversionFailure,
  type EngineRequest,
  type Converted,
  loadEngine,
  failureReason,
  type Warnings,
} from '../conversion';
import { describeUndrawn } from './vector-picture';

/** 128 megapixels are half a gigabyte of raw pixels. A small file can claim many more. */
export const maxPixels = 128_000_000;

const paged = new Set(['gif', 'webp', 'tiff']);

const encode: Readonly<Record<string, (image: Sharp, quality: { quality?: number }) => Sharp>> = {
  avif: (image, quality) => image.avif(quality),
  gif: (image) => image.gif(),
  jpeg: (image, quality) => image.flatten({ background: 'white' }).jpeg({ quality: 85, ...quality }),
  png: (image) => image.png(),
  tiff: (image) => image.tiff({ compression: 'lzw' }),
  webp: (image, quality) => image.webp(quality),
};

export async function loadSharp() {
  return (await loadEngine('sharp', () => import('sharp'))).default;
}

/** Formats whose decoders warn about faults that other programs ignore. */
const lenient = new Set(['jpeg', 'tiff']);

export async function convertImage(request: EngineRequest, input: Buffer): Promise<Converted> {
  try {
    return await convertIf('warning', request, input);
  } catch (error) {
    const again = lenient.has(request.route.reader)
      ? await convertIf('error', request, input).catch(() => undefined)
      : undefined;
    if (!again) throw explain(error, request);
    const message = `The ${request.inputFormat.toUpperCase()} image does not keep to its format, and may be damaged. It was converted as programs show it: look at the result.`;
    return { data: again.data, warnings: { ...again.warnings, INPUT_DAMAGED: message } };
  }
}

/** `failOn`: severity at which the decoder stops. Other programs show a picture despite mere warnings. */
async function convertIf(failOn: 'warning' | 'error', request: EngineRequest, input: Buffer): Promise<Converted> {
  const sharp = await loadSharp();
  const { writer } = request.route;
  const { width } = request.parameters;
  // From memory: with a path, an SVG could include other files of its folder.
  const source = sharp(input, { limitInputPixels: maxPixels, animated: paged.has(writer), failOn });
  const metadata = await source.metadata();
  const unread = metadata.format === 'svg' ? await describeUndrawn(input.toString('utf8')) : describeFrames(input);
  const values = await measuredValues(source, metadata);
  const losses = { ...describeLosses(request, metadata), ...(await describeAlpha(request, source, metadata)) };
  const warnings = { ...losses, ...unread, ...values?.warnings };
  if (values) source.linear(values.factor, values.offset);
  if (writer === 'pdf') {
    const { picturesToPdf } = await import('./picture-pages.js');
    const data = await picturesToPdf(request, values ? await source.png().toBuffer() : input, {
      ...{ ...metadata, failOn },
      density: densityOf(metadata),
    });
    return { data, warnings };
  }
  const { width: was, height } = metadata;
  if (width !== undefined && (width * width * height) / was > maxPixels) throw tooLarge(request);
  const upright = source.autoOrient();
  const sized = width === undefined ? upright : upright.resize({ width });
  const data = await encodePicture(withProperties(sized, request, metadata), request).toBuffer();
  return { data, warnings };
}

/**
 * Scales measured grey values (elevations, densities: floating point, or 32 bits) to shades, because sharp would show all below 1 as
 * black and all above 255 as white.
 */
async function measuredValues(source: Sharp, { depth, channels, space }: Metadata) {
  if (channels > 2 || /^(u?char|u?short)$/.test(depth)) return undefined;
  const raw = await source.clone().raw({ depth: 'float' }).toBuffer();
  let [min, max] = [Infinity, -Infinity];
  for (const value of new Float32Array(raw.buffer, raw.byteOffset, raw.length / 4)) {
    if (value < min && value !== -Infinity) min = value;
    if (value > max && value !== Infinity) max = value;
  }
  const factor = (space === 'grey16' ? 65_535 : 255) / (max - min || 1);
  const range = `${Number(min.toPrecision(6))} to ${Number(max.toPrecision(6))}`;
  const warnings = {
    VALUES_SCALED: `The picture holds measured values from ${range}, which are shown as black to white.`,
  };
  return { factor, offset: -min * factor, warnings };
}

/** Keeps what matters in print besides the pixels: physical size, colour profile, bit depth, and camera data. */
function withProperties(
  image: Sharp,
  { route: { reader, writer }, parameters }: EngineRequest,
  metadata: Metadata,
): Sharp {
  const density = reader === 'svg' ? undefined : densityOf(metadata);
  const { width: was } = metadata.autoOrient;
  // The physical size stays the same, with fewer or more pixels.
  const shown = density === undefined ? image : image.withDensity(density * ((parameters.width ?? was) / was));
  // sharp writes no profile into GIF, so it has to convert the colours.
  const coloured = writer === 'gif' ? shown : shown.keepIccProfile().keepExif();
  const isDeep = metadata.depth === 'ushort' && (writer === 'png' || writer === 'tiff');
  return isDeep ? coloured.toColourspace(metadata.channels < 3 ? 'grey16' : 'rgb16') : coloured;
}

/** Pixels per inch. sharp does not read it from WebP and AVIF, which have it in their EXIF data. */
function densityOf({ density, exif }: Pick<Metadata, 'density' | 'exif'>): number | undefined {
  const found = density ?? (exif && exifDensity(exif));
  // A smaller value is a pixel aspect ratio, not a density.
  return found !== undefined && found >= 10 ? found : undefined;
}

/** XResolution of the first directory, in pixels per inch. */
function exifDensity(exif: Buffer): number | undefined {
  const tiff = exif.subarray(exif.toString('latin1', 0, 4) === 'Exif' ? 6 : 0);
  const isLittle = tiff.toString('latin1', 0, 2) === 'II';
  const short = (at: number): number => (isLittle ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at));
  const long = (at: number): number => (isLittle ? tiff.readUInt32LE(at) : tiff.readUInt32BE(at));
  try {
    const directory = long(4);
    const entries = Array.from({ length: short(directory) }, (_, index) => directory + 2 + 12 * index);
    const valueOf = (tag: number): number | undefined => entries.find((entry) => short(entry) === tag);
    const [resolution, unit] = [valueOf(0x011a), valueOf(0x0128)];
    if (resolution === undefined) return undefined;
    const at = long(resolution + 8);
    const isPerCentimetre = unit !== undefined && short(unit + 8) === 3;
    return (long(at) / long(at + 4)) * (isPerCentimetre ? 2.54 : 1);
  } catch {
    // Malformed EXIF data.
    return undefined;
  }
}

export function encodePicture(image: Sharp, { route: { writer }, parameters: { quality } }: EngineRequest): Sharp {
  const write = encode[writer];
  if (!write) throw new Error(`No picture is written as ${writer}.`);
  return write(image, quality === undefined ? {} : { quality });
}

function describeLosses({ inputFormat, route: { reader, writer } }: EngineRequest, metadata: Metadata): Warnings {
  const warnings: Warnings = {};
  if (metadata.format !== (reader === 'avif' ? 'heif' : reader)) {
    warnings['INPUT_IS_ANOTHER_FORMAT'] =
      `The file is named ${inputFormat} but holds ${metadata.format}; it was converted all the same. Correct its extension.`;
  }
  if (!paged.has(writer) && writer !== 'pdf' && (metadata.pages ?? 1) > 1) {
    warnings['PAGES_LOST'] =
      `Only the first of ${metadata.pages ?? 1} pages or frames was converted. Convert to pdf or tiff to keep pages, to gif or webp to keep an animation.`;
  }
  return warnings;
}

/** JPEG has no transparency, and GIF all or none. Many pictures have the channel and make no use of it. */
async function describeAlpha(
  { outputFormat, route: { writer } }: EngineRequest,
  source: Sharp,
  { hasAlpha }: Metadata,
): Promise<Warnings> {
  if (!hasAlpha || (writer !== 'jpeg' && writer !== 'gif')) return {};
  const alpha = await source.clone().extractChannel('alpha').raw().toBuffer();
  if (!alpha.some((value) => value < 255 && (writer === 'jpeg' || value > 0))) return {};
  const became =
    writer === 'jpeg'
      ? 'has no transparency; it was replaced by white'
      : 'has no half transparency; such pixels became opaque, or vanished';
  return { TRANSPARENCY_LOST: `${outputFormat} ${became}. Convert to png, webp or avif to keep it.` };
}

const pngStart = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');

/** Warns about an animated PNG, of which sharp reads only the default image. */
export function describeFrames(input: Buffer): Warnings {
  const frames = input.subarray(0, pngStart.length).equals(pngStart) ? framesOfPng(input) : 1;
  if (frames <= 1) return {};
  return {
    PAGES_LOST: `Only one of ${frames} frames was converted: an animated PNG is not read as an animation. Save it as gif or webp to keep it.`,
  };
}

/** From the `acTL` chunk, which precedes the first pixels. */
function framesOfPng(png: Buffer): number {
  let at = pngStart.length;
  while (at + 12 <= png.length) {
    const kind = png.toString('latin1', at + 4, at + 8);
    if (kind === 'acTL') return png.readUInt32BE(at + 8);
    if (kind === 'IDAT') return 1;
    at += 12 + png.readUInt32BE(at);
  }
  return 1;
}

function tooLarge({ inputFormat }: EngineRequest): ConversionFailure {
  const megapixels = maxPixels / 1_000_000;
  const name = inputFormat.toUpperCase();
  return new ConversionFailure(`The ${name} image has more than ${megapixels} megapixels; make it smaller.`);
}

function explain(error: unknown, request: EngineRequest): ConversionFailure {
  const reason = failureReason(error);
  const name = request.inputFormat.toUpperCase();
  if (/unsupported image format/i.test(reason)) {
    return new ConversionFailure(`The file is not a ${name} image, nor any other image that can be read.`);
  }
  if (error instanceof ConversionFailure) return error;
  if (/pixel limit/i.test(reason)) return tooLarge(request);
  if (/too large for|exceeds/i.test(reason)) {
    return new ConversionFailure(`The image is too large for ${request.outputFormat}: ${reason}`);
  }
  if (/page \d+ differs from page/i.test(reason)) {
    const { outputFormat } = request;
    return new ConversionFailure(
      `The pages of the ${name} image differ in size, and no ${outputFormat} is made of such pages here. Convert it to pdf, which keeps every page.`,
    );
  }
  if (/bad labq|no known route from 'multiband'/i.test(reason)) {
    return new ConversionFailure(
      `The ${name} image has its colours in a form that the engine does not read, such as CIELAB of 8 bits. Save it as RGB.`,
    );
  }
  if (/unsupported|not supported|not configured|not been built in|unknown compression/i.test(reason)) {
    return new ConversionFailure(
      `The ${name} image is in a form that the engine does not read (${reason}). Save it as an ordinary PNG or TIFF.`,
    );
  }
  // The first complaint of the decoder varies from run to run, and none of them helps a person.
  const isVague = /read error|failOn|premature|truncated|corrupt|bad seek|end of/i.test(reason);
  return new ConversionFailure(`The ${name} image is damaged or cut off${isVague ? '.' : `: ${reason}`}`);
}
