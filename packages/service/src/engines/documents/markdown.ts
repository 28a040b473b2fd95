import { ConversionFailure, type Converted, joinWarnings, type Warnings } from '../conversion';
import { count } from '../input';
import { describeMedia } from './office-pictures';
import { firstOf, isNode, type Node, type PandocRun, part, rewrite } from './pandoc-document';

/**
 * Replaces HTML in Markdown by its visible content. A file `.md` is read as on GitHub: metadata only at the very beginning, and formulas
 * only in blocks (```` ```math ````), because text between dollar signs is mostly money.
 */

type Run = (run: PandocRun) => Promise<Converted>;

const dialect = 'gfm-tex_math_dollars-yaml_metadata_block';
export const mediaTag = /<(?:video|audio)[\s>]/gi;
export const keepsHtml = /^(html|revealjs|slidy|epub|gfm|markdown|commonmark)/;

/** The input for pandoc, and the warnings of the runs that made it. Takes any markup with HTML, as pandoc's own JSON too. */
export async function readMarkdown(
  text: string,
  { reader, writer, inputName, run }: { reader: string; writer: string; inputName: string; run: Run },
): Promise<Pick<PandocRun, 'from' | 'input'> & { warnings: Warnings }> {
  const from = reader === 'github-markdown' ? await dialectOf(text, inputName, run) : reader;
  if (keepsHtml.test(writer) || !/<[a-z]/i.test(text)) return { from, input: text, warnings: {} };
  const { data, warnings } = await run({ from, to: 'json', input: text, inputName });
  const shown = await withoutHtml(Buffer.from(data).toString('utf8'), inputName, run);
  return { from: 'json', input: shown.json, warnings: joinWarnings(warnings, shown.warnings) };
}

async function dialectOf(text: string, inputName: string, run: Run): Promise<string> {
  const [block] = /^---[ \t]*\n[^]*?\n(---|\.\.\.)[ \t]*(\n|$)/.exec(text) ?? [];
  const hasMetadata = block !== undefined && (await isMetadata(block, inputName, run));
  return hasMetadata ? `${dialect}+yaml_metadata_block` : dialect;
}

/** A block that is not YAML is text between two rules. */
async function isMetadata(input: string, inputName: string, run: Run): Promise<boolean> {
  try {
    await run({ from: `${dialect}+yaml_metadata_block`, to: 'plain', input, inputName });
    return true;
  } catch (error) {
    if (error instanceof ConversionFailure && error.message.includes('YAML')) return false;
    throw error;
  }
}

/** A document (JSON) with visible HTML turned into nodes, because writers of other formats would drop it. */
export async function withoutHtml(
  json: string,
  inputName: string,
  run: Run,
): Promise<{ json: string; warnings: Warnings }> {
  const document: unknown = JSON.parse(json);
  const blocks = new Map<string, unknown>();
  let media = 0;
  rewrite(document, (each) => {
    // Some dialects also have raw parts in other formats.
    if (!isNode(each) || part(each, 0) !== 'html') return undefined;
    media += count(String(part(each, 1)), mediaTag);
    if (each.t === 'RawBlock') blocks.set(String(part(each, 1)), undefined);
    return undefined;
  });
  let warnings = describeMedia(media);
  for (const html of blocks.keys()) {
    if (!/<(img|table|iframe)\b/i.test(html) && html.replace(/<!--[^]*?-->|<[^<>]*>/g, '').trim() === '') continue;
    const { data, warnings: more } = await run({ from: 'html', to: 'json', input: html, inputName });
    warnings = joinWarnings(warnings, more);
    const read = JSON.parse(Buffer.from(data).toString('utf8')) as { blocks: unknown };
    blocks.set(html, { t: 'Div', c: [['', [], []], read.blocks] });
  }
  const replaced = rewrite(document, (each) => {
    if (!isNode(each) || part(each, 0) !== 'html') return undefined;
    if (each.t === 'RawBlock') return blocks.get(String(part(each, 1)));
    return each.t === 'RawInline' ? shownInline(String(part(each, 1))) : undefined;
  });
  return { json: JSON.stringify(replaced), warnings };
}

/** A line break or a picture; other tags only mark text. */
function shownInline(html: string): Node | undefined {
  if (/^<br\b/i.test(html)) return { t: 'LineBreak' };
  if (!/^<img\b/i.test(html)) return undefined;
  const valueOf = (name: string) =>
    firstOf((new RegExp(`\\s${name}\\s*=\\s*["']?([^"'>]*)`, 'i').exec(html) ?? []).slice(1));
  const alternative = valueOf('alt');
  const description = alternative === '' ? [] : [{ t: 'Str', c: alternative }];
  return { t: 'Image', c: [['', [], []], description, [valueOf('src'), '']] };
}
