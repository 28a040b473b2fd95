import type { Metadata, Sharp } from 'sharp';
import {
  ConversionFailure,
  type ConversionRequest,
  type Converted,
  loadEngine,
  reasonOf,
  type Warnings,
} from './conversion';

/** 128 megapixels are half a gigabyte of raw pixels. A small file can claim many more. */
export const maxPixels = 128_000_000;

/** What sharp calls a format it has read, by the name under which it is read here. */
const detectedNames: Readonly<Record<string, string>> = { avif: 'heif' };

/** They hold pages, or the frames of an animation. */
const paged = new Set(['gif', 'webp', 'tiff']);
const opaque = new Set(['jpeg']);

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

/** Converts between image formats with sharp. */
export async function convertImage(request: ConversionRequest, input: Buffer): Promise<Converted> {
  const sharp = await loadSharp();
  const { writer } = request.route;
  const { width } = request.parameters;
  try {
    // From memory: with a path, an SVG could include other files of its folder.
    const source = sharp(input, { limitInputPixels: maxPixels, animated: paged.has(writer) });
    const metadata = await source.metadata();
    if (writer === 'pdf') {
      const { picturesToPdf } = await import('./picture-pages.js');
      return { data: await picturesToPdf(request, input, metadata), warnings: {} };
    }
    const { width: was, height } = metadata;
    if (width !== undefined && (width * width * height) / was > maxPixels) throw tooLarge(request);
    const upright = source.autoOrient();
    const sized = width === undefined ? upright : upright.resize({ width });
    const data = await encodePicture(sized, request).toBuffer();
    return { data, warnings: describeLosses(request, metadata) };
  } catch (error) {
    throw explain(error, request);
  }
}

/** In the format that is asked for, with the quality that is asked for. */
export function encodePicture(image: Sharp, { route: { writer }, parameters: { quality } }: ConversionRequest): Sharp {
  const write = encode[writer];
  if (!write) throw new Error(`No picture is written as ${writer}.`);
  return write(image, quality === undefined ? {} : { quality });
}

function describeLosses(
  { inputFormat, outputFormat, route: { reader, writer } }: ConversionRequest,
  metadata: Metadata,
): Warnings {
  const warnings: Warnings = {};
  if (metadata.format !== (detectedNames[reader] ?? reader)) {
    warnings['INPUT_IS_ANOTHER_FORMAT'] =
      `The file is named ${inputFormat} but holds ${metadata.format}; it was converted all the same. Correct its extension.`;
  }
  if (metadata.hasAlpha && opaque.has(writer)) {
    warnings['TRANSPARENCY_LOST'] =
      `${outputFormat} has no transparency; it was replaced by white. Convert to png, webp or avif to keep it.`;
  }
  if (!paged.has(writer) && (metadata.pages ?? 1) > 1) {
    warnings['PAGES_LOST'] =
      `Only the first of ${metadata.pages ?? 1} pages or frames was converted. Convert to pdf or tiff to keep pages, to gif or webp to keep an animation.`;
  }
  return warnings;
}

function tooLarge({ inputFormat }: ConversionRequest): ConversionFailure {
  const megapixels = maxPixels / 1_000_000;
  const name = inputFormat.toUpperCase();
  return new ConversionFailure(`The ${name} image has more than ${megapixels} megapixels; make it smaller.`);
}

function explain(error: unknown, request: ConversionRequest): ConversionFailure {
  const reason = reasonOf(error);
  const name = request.inputFormat.toUpperCase();
  if (/unsupported image format/i.test(reason)) {
    return new ConversionFailure(`The file is not a ${name} image, nor any other image that can be read.`);
  }
  if (error instanceof ConversionFailure) return error;
  if (/pixel limit/i.test(reason)) return tooLarge(request);
  if (/too large for|exceeds/i.test(reason)) {
    return new ConversionFailure(`The image is too large for ${request.outputFormat}: ${reason}`);
  }
  // Which complaint of the decoder comes first varies from run to run, and none of them helps a person.
  const isVague = /read error|failOn|premature|truncated|corrupt|bad seek|end of/i.test(reason);
  return new ConversionFailure(`The ${name} image is damaged or cut off${isVague ? '.' : `: ${reason}`}`);
}
