import type { Metadata, SharpOptions } from 'sharp';
import {
  ConversionFailure,
  type EngineRequest,
  loadEngine,
  millimetresPerInch,
  oneLine,
  type Parameters,
  pointsPerInch,
} from '../conversion';
import { paperOf, typeset } from '../typesetter';

/** Dots per inch of a picture that does not state them. */
const defaultDensity = 96;

/** A PDF with a page for each picture of a file, as large as the picture or of the requested size. */
export async function picturesToPdf(
  { parameters, title }: EngineRequest,
  input: Buffer,
  metadata: Metadata & Pick<SharpOptions, 'failOn'>,
): Promise<Uint8Array> {
  const { default: sharp } = await loadEngine('sharp', () => import('sharp'));
  const images = new Map<string, Uint8Array>();
  const pages: string[] = [];
  for (let page = 0; page < (metadata.pages ?? 1); page += 1) {
    // A JPEG that needs no rotation is embedded without loss.
    const isJpeg = metadata.format === 'jpeg' && (metadata.orientation ?? 1) === 1;
    const name = `${page}.${isJpeg ? 'jpg' : 'png'}`;
    const { data, info } = isJpeg
      ? { data: input, info: metadata }
      : await sharp(input, { page, failOn: metadata.failOn })
          .autoOrient()
          .png({ compressionLevel: 6 })
          .toBuffer({ resolveWithObject: true });
    images.set(name, data);
    pages.push(picturePage(name, info, { density: metadata.density, parameters }));
  }
  const { pdf, reason } = await typeset(
    [`#set document(title: ${JSON.stringify(title)})`, ...pages].join('\n'),
    images,
  );
  if (pdf) return pdf;
  throw new ConversionFailure(`The picture could not be put into a PDF: ${oneLine(reason)}`);
}

function picturePage(
  name: string,
  { width, height }: { width: number; height: number },
  { density = defaultDensity, parameters }: { density?: number | undefined; parameters: Parameters },
): string {
  const margin = ((parameters.margin ?? 0) / millimetresPerInch) * pointsPerInch;
  if (parameters.page_size !== undefined) {
    const paper = paperOf(parameters.page_size);
    return `#page(paper: "${paper}", flipped: ${width > height}, margin: ${margin}pt)[#align(center + horizon, image("${name}", width: 100%, height: 100%, fit: "contain"))]`;
  }
  const points = (pixels: number) => (pixels / Math.max(density, defaultDensity / 2)) * pointsPerInch + 2 * margin;
  return `#page(width: ${points(width)}pt, height: ${points(height)}pt, margin: ${margin}pt)[#image("${name}", width: 100%, height: 100%)]`;
}
