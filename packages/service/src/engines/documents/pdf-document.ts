import { isObject } from 'temporal-file-conversion/contract';
import {
  type Attributes,
  firstOf,
  fixedPitch,
  imageKind,
  isAttributes,
  isNode,
  listOf,
  type Node,
  part,
  rewrite,
  shownText,
  pandocText,
} from './pandoc-document';
import { layTables, type Page } from './table-layout';
import { breakWords } from './text-width';

/**
 * Prepares a pandoc document (JSON) for typst. pandoc writes some parts into the typst source as code (raw blocks, attributes, classes),
 * and typst fails on links and images without a target, so only known text and plain values pass.
 */

export type PdfDocument = Readonly<ReturnType<typeof preparePdfDocument>>;

interface Preparation {
  readonly media: ReadonlyMap<string, Uint8Array>;
  readonly keepReferences: boolean;
  readonly page: Page;
  readonly anchors: ReadonlySet<string>;
  readonly usedAnchors: Set<string>;
  /** Images to typeset, by the path under which the document names them. */
  readonly images: Map<string, Uint8Array>;
  /** Images that are not in the file or that a PDF cannot hold. */
  readonly missing: string[];
}

/** Raw code, but harmless whoever wrote it. */
export const pageBreak = '#pagebreak(weak: true)';
const language = /^[A-Za-z]{2,3}(-[A-Za-z]{2,8})*$/;
const safeIdentifier = /^[\w:.-]+$/;
/** `c++` and `c#` are classes of code blocks; a backtick would end the block in typst. */
const safeClass = /^[\w:.+#-]+$/;
/** A safe width or height; other attributes are dropped. */
const safeLength = /^[\d.e-]+(%|px|in|cm|mm|pt|em)?$/;
/** Elements whose identifiers pandoc's typst writer turns into labels. */
const anchored = new Set(['Header', 'Div', 'Span', 'Figure']);

/** `keepReferences: false` drops internal links and all images, for a document that does not typeset otherwise. */
export function preparePdfDocument(json: string, options: Pick<Preparation, 'media' | 'keepReferences' | 'page'>) {
  const document = JSON.parse(json) as Record<string, unknown>;
  const [images, missing] = [new Map<string, Uint8Array>(), new Array<string>()];
  const preparation = { ...options, anchors: anchorsIn(document), usedAnchors: new Set<string>(), images, missing };
  const meta = isObject(document['meta']) ? document['meta'] : {};
  const title = titleOf(meta, preparation);
  // The abstract joins the text: beside the title it would be cut off at the end of the page.
  const all = [...abstractOf(meta), ...listOf(document['blocks'])];
  const blocks = [...title, ...layTables(prepare(all, preparation), options.page)];
  const declared = pandocText(meta['lang']);
  const [lang = 'en', ...subtags] = language.test(declared) ? declared.toLowerCase().split('-') : [];
  const properties = {
    title: textsIn(meta['title']).join(' '),
    authors: textsIn(meta['author']),
    keywords: textsIn(meta['keywords']),
    lang,
    region: subtags.find((tag) => tag.length === 2),
  };
  return { json: JSON.stringify({ ...document, meta: {}, blocks }), properties, images, missing };
}

function linesOf(value: unknown): unknown[][] {
  if (!isNode(value)) return [];
  if (value.t === 'MetaList') return listOf(value.c).flatMap(linesOf);
  if (value.t === 'MetaMap' && isObject(value.c)) return Object.values(value.c).flatMap(linesOf);
  const line = value.t === 'MetaInlines' ? listOf(value.c) : [{ t: 'Str', c: pandocText(value) }];
  return pandocText(line).trim() === '' ? [] : [line];
}

function textsIn(value: unknown): string[] {
  return linesOf(value).map((line) =>
    shownText({ blocks: line })
      .replace(/[\s\p{C}]+/gu, ' ')
      .trim(),
  );
}

/** Title, subtitle, authors and date, centred above the text. */
function titleOf(meta: Record<string, unknown>, preparation: Preparation): unknown[] {
  const centred = (key: string, style: string) =>
    linesOf(meta[key]).flatMap((line) => [
      { t: 'RawBlock', c: ['typst', `#align(center, text(${style})[`] },
      { t: 'Plain', c: prepare(line, preparation) },
      { t: 'RawBlock', c: ['typst', '])'] },
    ]);
  return [
    ...centred('title', 'weight: "bold", size: 1.5em, hyphenate: false'),
    ...centred('subtitle', 'weight: "bold", size: 1.25em, hyphenate: false'),
    ...[...centred('author', ''), ...centred('date', '')],
  ];
}

function abstractOf({ abstract }: Record<string, unknown>): unknown[] {
  if (!isNode(abstract)) return [];
  const heading = { t: 'Para', c: [{ t: 'Strong', c: [{ t: 'Str', c: 'Abstract' }] }] };
  const blocks = abstract.t === 'MetaBlocks' ? abstract.c : [{ t: 'Para', c: [{ t: 'Str', c: pandocText(abstract) }] }];
  return [heading, { t: 'BlockQuote', c: abstract.t === 'MetaInlines' ? [{ t: 'Para', c: abstract.c }] : blocks }];
}

function prepare(value: unknown, preparation: Preparation): unknown {
  return rewrite(value, (each) => {
    if (isAttributes(each)) return prepareAttributes(each, preparation);
    return isNode(each) ? prepareNode(each, preparation) : undefined;
  });
}

/** Undefined: the node stays, and its parts are prepared. */
function prepareNode(node: Node, preparation: Preparation): unknown {
  switch (node.t) {
    case 'RawBlock':
      return part(node, 1) === pageBreak ? node : { t: 'Plain', c: [] };
    case 'RawInline':
      return plainSpan([]);
    case 'Str':
      return { t: 'Str', c: breakWords(String(node.c)) };
    case 'Code':
    case 'CodeBlock': {
      const [attributes, text] = [prepare(part(node, 0), preparation), String(part(node, 1))];
      const isInColumns = isAttributes(attributes) && attributes[1].includes(fixedPitch);
      return { t: node.t, c: [attributes, isInColumns ? text : breakWords(text)] };
    }
    case 'Cite':
      // typst fails on a citation without a bibliography, and a single file has none.
      return plainSpan(prepare(part(node, 1), preparation));
    case 'Link':
      return prepareLink(node, preparation);
    case 'Image':
      return prepareImage(node, preparation);
    case 'Table':
      return prepareTable(node, preparation);
    default:
      return undefined;
  }
}

function prepareLink(node: Node, preparation: Preparation): unknown {
  const target = firstOf(part(node, 2));
  const leadsNowhere = target.startsWith('#')
    ? !preparation.keepReferences || !preparation.anchors.has(decodeAnchor(target.slice(1)))
    : target === '';
  return leadsNowhere ? plainSpan(prepare(part(node, 1), preparation)) : { t: 'Link', c: prepare(node.c, preparation) };
}

function prepareImage(node: Node, preparation: Preparation): unknown {
  const source = firstOf(part(node, 2));
  const data = preparation.media.get(source) ?? dataUriBytes(source);
  const kind = data && imageKind(data);
  if (!data || !kind || !preparation.keepReferences) {
    preparation.missing.push(source === '' ? 'an image without a source' : source);
    return plainSpan(prepare(part(node, 1), preparation));
  }
  const name = `/images/${preparation.images.size}.${kind}`;
  preparation.images.set(name, data);
  const [attributes, alternative] = [0, 1].map((index) => prepare(part(node, index), preparation));
  return { t: 'Image', c: [attributes, alternative, [name, '']] };
}

/**
 * For a row whose cells are all covered from above, pandoc writes a bare comma, which typst rejects. Dropping the row moves no cell:
 * typst puts those below into the next free places.
 */
function prepareTable(node: Node, preparation: Preparation): Node {
  const [attributes, caption, columns, head, bodies, foot] = listOf(node.c);
  const rows = [withoutEmptyRows(head), listOf(bodies).map(withoutEmptyRows), withoutEmptyRows(foot)];
  return { t: node.t, c: prepare([attributes, caption, columns, ...rows], preparation) };
}

/** A head, body or foot of a table: its attributes, and one or two lists of rows. */
function withoutEmptyRows(section: unknown): unknown[] {
  const isEmptyRow = (row: unknown) => Array.isArray(row) && isAttributes(row[0]) && listOf(row[1]).length === 0;
  return listOf(section).map((part) => (Array.isArray(part) ? part.filter((row) => !isEmptyRow(row)) : part));
}

function prepareAttributes(attributes: Attributes, { anchors, usedAnchors }: Preparation): Attributes {
  const [id, classes, pairs] = attributes;
  const keepId = anchors.has(id) && !usedAnchors.has(id);
  if (keepId) usedAnchors.add(id);
  return [
    keepId ? id : '',
    classes.filter((name) => safeClass.test(name)),
    pairs.filter(([key, value]) => (key === 'width' || key === 'height') && safeLength.test(value)),
  ];
}

function anchorsIn(document: unknown): ReadonlySet<string> {
  const anchors = new Set<string>();
  rewrite(document, (each) => {
    if (!isNode(each) || !anchored.has(each.t)) return undefined;
    const [id = ''] = listOf(each.c).find(isAttributes) ?? [];
    if (safeIdentifier.test(id)) anchors.add(id);
    return undefined;
  });
  return anchors;
}

function plainSpan(content: unknown): Node {
  return { t: 'Span', c: [['', [], []], content] };
}

function dataUriBytes(uri: string): Uint8Array | undefined {
  const match = /^data:[^,]*?(;base64)?,(.*)$/is.exec(uri);
  if (!match) return undefined;
  const [, base64, content = ''] = match;
  try {
    const text = decodeURIComponent(content);
    return base64 === undefined ? Buffer.from(text, 'utf8') : Buffer.from(text, 'base64');
  } catch {
    return undefined;
  }
}

function decodeAnchor(anchor: string): string {
  try {
    return decodeURIComponent(anchor);
  } catch {
    return anchor;
  }
}
