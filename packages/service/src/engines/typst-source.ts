import { runPandoc } from './pandoc';
import type { Warnings } from './conversion';
import type { PdfDocument } from './pdf-document';

interface TypstSource {
  source: string;
  warnings: Warnings;
}

const standalone = { standalone: true, variables: { papersize: 'a4' } };
const placeholder = 'thetextofthedocument';

/** What pandoc writes before and after the text of a document without metadata: always the same. */
let frame: { before: string; after: string } | undefined;

/**
 * Writes a document as typst source. To fill in its template takes pandoc most of the time for a page of text, and only metadata
 * makes a difference in it, so that the text of most documents is put into a frame that was filled in once.
 */
export async function writeTypst(document: PdfDocument, inputName: string): Promise<TypstSource> {
  if (document.hasMetadata) return run(document.json, inputName, standalone);
  frame ??= await makeFrame(document, inputName);
  const { source, warnings } = await run(document.json, inputName, {});
  return { source: frame.before + source.replace(/\n$/, '') + frame.after, warnings };
}

async function makeFrame({ json }: PdfDocument, inputName: string): Promise<{ before: string; after: string }> {
  const blocks = [{ t: 'Para', c: [{ t: 'Str', c: placeholder }] }];
  const { source } = await run(JSON.stringify({ ...(JSON.parse(json) as object), blocks }), inputName, standalone);
  const [before = '', after = ''] = source.split(placeholder);
  return { before, after };
}

async function run(json: string, inputName: string, options: Record<string, unknown>): Promise<TypstSource> {
  const { output, warnings } = await runPandoc({ from: 'json', to: 'typst', input: json, inputName, options });
  return { source: Buffer.from(output).toString('utf8'), warnings };
}
