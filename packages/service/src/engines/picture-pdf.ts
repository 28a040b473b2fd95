import type { Metadata } from 'sharp';
import { type ConversionRequest, loadEngine } from './conversion';
import type { Parameters } from './parameters';
import { typesetPages } from './pdf-engine';

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
    const single = sharp(input, { page }).autoOrient();
    // What needs no change keeps every bit.
    const isJpeg = metadata.format === 'jpeg' && (metadata.orientation ?? 1) === 1;
    const name = `${page}.${isJpeg ? 'jpg' : 'png'}`;
    const { data, info } = isJpeg
      ? { data: input, info: { width: metadata.width, height: metadata.height } }
      : await single.png({ compressionLevel: 6 }).toBuffer({ resolveWithObject: true });
    images.set(name, data);
    pages.push(pageOf(name, info, { density: metadata.density, parameters }));
  }
  return typesetPages([`#set document(title: ${JSON.stringify(title)})`, ...pages].join('\n'), images);
}

function pageOf(
  name: string,
  { width, height }: { width: number; height: number },
  { density = usualDensity, parameters }: { density?: number | undefined; parameters: Parameters },
): string {
  const margin = `margin: ${((parameters.margin ?? 0) / millimetresPerInch) * pointsPerInch}pt`;
  if (parameters.page_size !== undefined) {
    const paper = parameters.page_size.replace(/^(letter|legal)$/, 'us-$1');
    return `#page(paper: "${paper}", flipped: ${width > height}, ${margin})[#align(center + horizon, image("${name}", width: 100%, height: 100%, fit: "contain"))]`;
  }
  const [w, h] = [width, height].map((pixels) => (pixels / Math.max(density, usualDensity / 2)) * pointsPerInch);
  const inset = 2 * (((parameters.margin ?? 0) / millimetresPerInch) * pointsPerInch);
  return `#page(width: ${(w ?? 0) + inset}pt, height: ${(h ?? 0) + inset}pt, ${margin})[#image("${name}", width: 100%, height: 100%)]`;
}
