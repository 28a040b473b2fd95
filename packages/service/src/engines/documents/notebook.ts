import { z } from 'zod';
import { type Converted, joinWarnings, type Warnings } from '../conversion';
import { keepsHtml, withoutHtml } from './markdown';
import { embedImages, type PandocRun } from './pandoc-document';

const text = z.union([z.string(), z.array(z.string()).transform((lines) => lines.join(''))]);
const outputSchema = z.looseObject({
  output_type: z.string(),
  data: z.record(z.string(), z.unknown()).optional(),
  text: text.optional(),
  ename: z.string().optional(),
  evalue: z.string().optional(),
  traceback: z.array(z.string()).optional(),
});
const cellSchema = z.looseObject({
  cell_type: z.string(),
  source: text,
  metadata: z.looseObject({ format: z.string().optional(), raw_mimetype: z.string().optional() }).optional(),
  outputs: z.array(outputSchema).optional(),
});
const notebookSchema = z.looseObject({ cells: z.array(cellSchema) });

type Output = z.infer<typeof outputSchema>;
type Cell = z.infer<typeof cellSchema>;

/** The forms of an output, in Jupyter's order of preference. */
const forms = [
  'text/html',
  'text/markdown',
  'image/svg+xml',
  'text/latex',
  'image/png',
  'image/jpeg',
  'image/gif',
  'text/plain',
];

/**
 * The notebook rewritten so that pandoc reads what Jupyter shows: the best form of each output, errors, and raw cells. A file that is no
 * such notebook stays as it is.
 */
export async function readNotebook(
  json: string,
  {
    writer,
    inputName,
    run,
  }: {
    writer: string;
    inputName: string;
    run: (run: PandocRun) => Promise<Converted & { media: ReadonlyMap<string, Uint8Array> }>;
  },
): Promise<Pick<PandocRun, 'from' | 'input'> & { warnings: Warnings }> {
  const notebook = notebookSchema.safeParse(parsed(json)).data;
  if (!notebook)
    return { from: 'ipynb', input: json, warnings: json.includes('"worksheets"') ? { OUTPUTS_LOST: old } : {} };
  let lost = 0;
  const cells = notebook.cells.flatMap((cell) => {
    if (cell.cell_type === 'raw') return [rawCell(cell)];
    const outputs = cell.outputs?.map(shownOutput) ?? [];
    lost += outputs.filter((output, index) => isLost(cell.outputs?.[index], output, writer)).length;
    return splitCell(
      cell.cell_type === 'markdown' ? { ...cell, source: withFormulas(cell.source) } : cell,
      outputs.flatMap((output) => output ?? []),
    );
  });
  const input = JSON.stringify({ ...notebook, cells });
  const message = `${lost} output(s) of cells that only a program in a browser shows (widgets, interactive plots) are not in the result. Have the notebook show pictures in their place.`;
  const warnings = lost === 0 ? {} : { OUTPUTS_LOST: message };
  if (keepsHtml.test(writer)) return { from: 'ipynb', input, warnings };
  const options = { 'extract-media': 'media', 'ipynb-output': 'IpynbOutputAll' };
  const read = await run({ from: 'ipynb', to: 'json', input, inputName, options });
  const { json: document } = embedImages(Buffer.from(read.data).toString('utf8'), read.media);
  const shown = await withoutHtml(document, inputName, run);
  return { from: 'json', input: shown.json, warnings: joinWarnings(warnings, read.warnings, shown.warnings) };
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** Marks bare LaTeX environments with `$$`, without which readers do not take them for formulas. */
function withFormulas(source: string): string {
  if (source.includes('```')) return source;
  const formula = /(?<!\$\$\s*)^\\begin\{((?!tab|fig|item|enum)\w+\*?)\}[^]{0,4000}?\\end\{\1\}(?=\s*$)/gm;
  return source.replace(formula, (found) => `$$${found}$$`);
}

const old =
  'Raw cells, and outputs that are no plain text, may not be in the result: the notebook has the format of Jupyter before 2015. Save it with a newer one.';

function shownOutput(output: Output): Output | undefined {
  const { data, traceback = [], ename = '', evalue = '' } = output;
  if (output.output_type === 'error') {
    const trace = plain(traceback.join('\n'));
    const report = trace.includes(evalue) ? trace : `${trace}\n${ename}: ${evalue}`;
    return { output_type: 'stream', name: 'stderr', text: report.trim() };
  }
  if (output.text !== undefined) return { ...output, text: plain(output.text) };
  if (!data) return output;
  const best = forms.find((form) => data[form] !== undefined && (form !== 'text/html' || showsAnything(data[form])));
  return best === undefined ? undefined : { ...output, data: { [best]: data[best] } };
}

const live = /^application\/vnd\.(jupyter\.widget|plotly|vega|bokeh|holoviews)/;
const liveHtml = /<(iframe|video|audio|canvas|object|embed)\b/i;

/** Whether only a browser shows an output, even if there is text in its place. */
function isLost(output: Output | undefined, shown: Output | undefined, writer: string): boolean {
  if (!shown) return true;
  const [[form, content] = []] = Object.entries(shown.data ?? {});
  if (form === 'text/html') return !keepsHtml.test(writer) && liveHtml.test(text.parse(content));
  return form === 'text/plain' && Object.keys(output?.data ?? {}).some((each) => live.test(each));
}

/** Scripts draw in a browser only. */
function showsAnything(html: unknown): boolean {
  const shown = text.parse(html).replace(/<(script|style)\b[^]*?<\/\1\s*>|<!--[^]*?-->/gi, '');
  return /<(img|svg|table)\b/i.test(shown) || shown.replace(/<[^<>]*>/g, '').trim() !== '';
}

/** Without the colours, links and other escape sequences of a terminal. */
function plain(shown: string): string {
  // eslint-disable-next-line no-control-regex -- escape sequences begin with one
  return shown.replace(/\u001b(?:\[[\d;?]*[A-Za-z]|\][^\u0007\u001b]*(?:\u0007|\u001b\\))/g, '');
}

/** Outputs in Markdown or LaTeX become Markdown cells of their own, in order. */
function splitCell(cell: Cell, outputs: readonly Output[]): Cell[] {
  const cells: Cell[] = [cell.outputs ? { ...cell, outputs: [] } : cell];
  for (const output of outputs) {
    const written = output.data?.['text/markdown'] ?? output.data?.['text/latex'];
    if (written !== undefined)
      cells.push({ cell_type: 'markdown', metadata: {}, source: withFormulas(text.parse(written)) });
    else if (cells.at(-1)?.outputs) cells.at(-1)?.outputs?.push(output);
    else cells.push({ cell_type: 'code', metadata: {}, source: '', execution_count: null, outputs: [output] });
  }
  return cells;
}

/** A raw cell is shown as it is written, unless it names its format. */
function rawCell(cell: Cell): Cell {
  const kind = cell.metadata?.format ?? cell.metadata?.raw_mimetype ?? '';
  if (kind.includes('html')) return cell;
  if (kind.includes('markdown')) return { ...cell, cell_type: 'markdown' };
  const fence = '`'.repeat(Math.max(3, ...Array.from(cell.source.matchAll(/`+/g), ([found]) => found.length + 1)));
  return { cell_type: 'markdown', metadata: {}, source: `${fence}\n${cell.source}\n${fence}` };
}
