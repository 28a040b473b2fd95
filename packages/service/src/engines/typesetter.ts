import path from 'node:path';
import type { NodeCompiler } from '@myriaddreamin/typst-ts-node-compiler';
import { z } from 'zod';
import { messageOf } from '../shared/caught';
import { loadEngine, type Parameters } from './conversion';

/** typst: typesets pages, with the fonts of this machine. */

const diagnosticsSchema = z.array(z.object({ message: z.string() }));

/** Evictions that an unused result survives in typst's global cache. */
const cacheRounds = 10;

/** typst reads only files below its workspace. This folder does not exist; it holds only the images that are mapped into it. */
const workspace = path.join(__dirname, 'typst-workspace');

let typesetter: NodeCompiler | undefined;

/** typst would take the boxes of task lists from a math font that lacks them. */
export const signs = '#show regex("[☐☑☒]"): set text(font: "DejaVu Sans")';

/** Characters already known to have a glyph in some installed font. */
const shown = new Set<string>();

/** Without a creation date, the same document yields the same bytes every time. */
const undated = '#set document(date: none)\n';

/** `reason`: why there is no PDF. */
export async function typeset(
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

/** One compiler per process: it keeps fonts loaded, so that a second PDF takes milliseconds. */
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

/** The letters without a font: they measure like U+10FFFD, which no font can have. Fonts that are installed later count too. */
export async function lettersWithoutFont(letters: readonly string[]): Promise<string[]> {
  const unknown = letters.filter((letter) => !shown.has(letter));
  if (unknown.length === 0) return [];
  const source = `${signs}
  #context {
    let size(letter) = measure(text(top-edge: "bounds", bottom-edge: "bounds", letter))
    let box = size("\\u{10fffd}")
    [#metadata((${unknown.map((letter) => `"\\u{${letter.codePointAt(0)?.toString(16) ?? ''}}",`).join('')}).filter(letter => size(letter) == box)) <missing>]
  }`;
  const compiler = await loadTypesetter();
  const answer: unknown = compiler.query({ mainFileContent: source }, { selector: '<missing>', field: 'value' });
  const [missing = []] = z.array(z.array(z.string())).parse(answer);
  const without = new Set(missing);
  for (const letter of unknown) if (!without.has(letter)) shown.add(letter);
  // A compiler knows only the fonts that were there at its creation.
  if (missing.length > 0) typesetter = undefined;
  return missing;
}

/** The name that typst uses. */
export function paperOf(size: NonNullable<Parameters['page_size']>): string {
  return size.replace(/^(?=letter|legal)/, 'us-');
}
