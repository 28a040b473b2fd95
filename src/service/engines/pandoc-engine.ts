import { ConversionFailure, type ConversionRequest, type Converted, oneLine, type Warnings } from './conversion';
import { plainTextReader } from '../formats-table';
import { inputNameFor, runPandoc } from './pandoc';
import { plainTextDocument } from './plain-text';

export { isPandocBroken } from './pandoc';

/** Formats that are zip archives: the most common damage is that a file is none. */
const zipped = new Set(['docx', 'odt', 'epub', 'pptx', 'xlsx']);

/** Writers that put images into the file they write. */
const containers = new Set(['docx', 'odt', 'epub2', 'epub3', 'pptx', 'rtf', 'fb2', 'ipynb']);
const selfContainedPages = new Set(['html4', 'html5']);

/** Converts between document formats with pandoc. */
export async function convertDocument(request: ConversionRequest, input: Buffer): Promise<Converted> {
  const { writer } = request.route;
  const keepsImages = containers.has(writer) || selfContainedPages.has(writer);
  const options = {
    standalone: true,
    ...(selfContainedPages.has(writer) ? { 'embed-resources': true } : {}),
    // Only to learn of images that the output cannot hold.
    ...(keepsImages ? {} : { 'extract-media': 'media' }),
  };
  const { output, media, warnings } = await readDocument(request, input, { to: writer, options });
  return { data: output, warnings: keepsImages ? warnings : { ...warnings, ...describeLostImages(request, media) } };
}

/** Reads the input of a conversion and writes it in the format that pandoc calls `to`. */
export async function readDocument(
  request: ConversionRequest,
  input: Buffer,
  { to, options }: { to: string; options: Record<string, unknown> },
): ReturnType<typeof runPandoc> {
  const { reader } = request.route;
  if (zipped.has(reader) && !input.subarray(0, 2).equals(Buffer.from('PK'))) {
    throw new ConversionFailure(
      `The file is not a ${request.inputFormat.toUpperCase()} document: it is no zip archive, so it is damaged or has the wrong extension.`,
    );
  }
  const isPlain = reader === plainTextReader;
  try {
    return await runPandoc({
      from: isPlain ? 'json' : reader,
      to,
      input: isPlain ? plainTextDocument(input) : input,
      inputName: inputNameFor(request.title),
      options,
    });
  } catch (error) {
    if (!(error instanceof ConversionFailure)) throw error;
    const { inputFormat, outputFormat } = request;
    throw new ConversionFailure(
      `The ${inputFormat} file could not be converted to ${outputFormat}: ${oneLine(error.message)}`,
    );
  }
}

function describeLostImages({ outputFormat }: ConversionRequest, media: ReadonlyMap<string, unknown>): Warnings {
  if (media.size === 0) return {};
  return {
    IMAGES_LOST: `${media.size} image(s) of the document are not in the result, because a ${outputFormat} file cannot contain images. Convert to docx, odt, epub, html or pdf to keep them.`,
  };
}
