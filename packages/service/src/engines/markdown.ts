import { ConversionFailure, type Converted, joinWarnings, type Warnings } from './conversion';
import { count } from './input';
import { describeMedia } from './office-pictures';
import { firstOf, isNode, listOf, type Node, type PandocRun, part, rewrite } from './pandoc-document';

/**
 * Markdown with the HTML within it as what that shows; a file `.md` as GitHub shows it: metadata at the very beginning alone. Formulas
 * are blocks (```` ```math ````) or code between two signs of dollar: other text between these is mostly money.
 */

type Run = (run: PandocRun) => Promise<Converted>;

const dialect = 'gfm-tex_math_dollars-yaml_metadata_block';
/** In HTML. */
export const mediaTag = /<(?:video|audio)[\s>]/gi;
/** What keeps HTML as it is. */
export const keepsHtml = /^(html|revealjs|slidy|epub|gfm|markdown|commonmark)/;

/** What pandoc is to read of a text, and what it has said of it already. */
export async function readMarkdown(
  text: string,
  { reader, writer, inputName, run }: { reader: string; writer: string; inputName: string; run: Run },
): Promise<Pick<PandocRun, 'from' | 'input'> & { warnings: Warnings }> {
  const from = reader === 'github-markdown' ? await dialectOf(text, inputName, run) : reader;
  const hasFormulas = reader === 'github-markdown' && /\$`[^`]+`\$/.test(text);
  const hasHtml = !keepsHtml.test(writer) && /<[a-z]/i.test(text);
  if (!hasHtml && !hasFormulas) return { from, input: text, warnings: {} };
  const { data, warnings } = await run({ from, to: 'json', input: text, inputName });
  const read = Buffer.from(data).toString('utf8');
  const json = hasFormulas ? withFormulas(read) : read;
  if (!hasHtml) return { from: 'json', input: json, warnings };
  const shown = await withoutHtml(json, inputName, run);
  return { from: 'json', input: shown.json, warnings: joinWarnings(warnings, shown.warnings) };
}

/** A document (JSON) in which code between two signs of dollar has become what it is to GitHub. */
function withFormulas(json: string): string {
  const document: unknown = JSON.parse(json);
  rewrite(document, (each) => {
    for (const [index, code] of listOf(each).entries()) {
      if (!isNode(code) || code.t !== 'Code') continue;
      const [before, after] = [listOf(each)[index - 1], listOf(each)[index + 1]];
      if (!isString(before) || !isString(after) || !before.c.endsWith('$') || !after.c.startsWith('$')) continue;
      before.c = before.c.slice(0, -1);
      after.c = after.c.slice(1);
      Object.assign(code, { t: 'Math', c: [{ t: 'InlineMath' }, part(code, 1)] });
    }
    return undefined;
  });
  return JSON.stringify(document);
}

function isString(value: unknown): value is { t: 'Str'; c: string } {
  return isNode(value) && value.t === 'Str';
}

async function dialectOf(text: string, inputName: string, run: Run): Promise<string> {
  const [block] = /^---[ \t]*\n[^]*?\n(---|\.\.\.)[ \t]*(\n|$)/.exec(text) ?? [];
  const hasMetadata = block !== undefined && (await isMetadata(block, inputName, run));
  return hasMetadata ? `${dialect}+yaml_metadata_block` : dialect;
}

/** What is no YAML is text between two rules. */
async function isMetadata(input: string, inputName: string, run: Run): Promise<boolean> {
  try {
    await run({ from: `${dialect}+yaml_metadata_block`, to: 'plain', input, inputName });
    return true;
  } catch (error) {
    if (error instanceof ConversionFailure && error.message.includes('YAML')) return false;
    throw error;
  }
}

/** A document (JSON) in which HTML that shows something has become it: writers of other formats would leave it out. */
export async function withoutHtml(
  json: string,
  inputName: string,
  run: Run,
): Promise<{ json: string; warnings: Warnings }> {
  const document: unknown = JSON.parse(json);
  const blocks = new Map<string, unknown>();
  let media = 0;
  rewrite(document, (each) => {
    if (!isNode(each) || !isHtml(each)) return undefined;
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
    if (!isNode(each) || !isHtml(each)) return undefined;
    if (each.t === 'RawBlock') return blocks.get(String(part(each, 1)));
    return each.t === 'RawInline' ? shownInline(String(part(each, 1))) : undefined;
  });
  return { json: JSON.stringify(replaced), warnings };
}

/** Some dialects know what is raw in other formats too. */
function isHtml(raw: Node): boolean {
  return part(raw, 0) === 'html';
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
