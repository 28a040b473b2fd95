import {
  type Attributes,
  firstOf,
  imageKind,
  isAttributes,
  isNode,
  isObject,
  type Node,
  part,
  rewrite,
} from './pandoc-document';

/**
 * Makes a pandoc document (JSON) fit for typst. pandoc writes some parts of a document into the typst source as code (raw
 * blocks, attributes, classes, metadata such as `template`), and typst refuses to typeset links and images that lead
 * nowhere. Only what is known to be text or a plain value gets through.
 */

export type PdfDocument = Readonly<ReturnType<typeof preparePdfDocument>>;

interface Preparation {
  readonly media: ReadonlyMap<string, Uint8Array>;
  readonly keepReferences: boolean;
  readonly anchors: Set<string>;
  readonly usedAnchors: Set<string>;
  /** The images to typeset, by the path under which the document names them. */
  readonly images: Map<string, Uint8Array>;
  /** Images that are not in the file or that a PDF cannot hold. */
  readonly missing: string[];
}

const keptMetadata = new Set(['title', 'subtitle', 'author', 'date', 'abstract', 'keywords', 'lang']);
const safeIdentifier = /^[\w:.-]+$/;
/** `c++` and `c#` are classes of code blocks; a backtick would end the block in typst. */
const safeClass = /^[\w:.+#-]+$/;
const safeAttributes: Readonly<Record<string, RegExp>> = {
  width: /^[\d.e-]+(%|px|in|cm|mm|pt|em)?$/,
  height: /^[\d.e-]+(%|px|in|cm|mm|pt|em)?$/,
};
/** The elements whose identifiers pandoc's typst writer writes as labels. */
const anchored = new Set(['Header', 'Div', 'Span', 'Figure']);

/** `keepReferences: false` drops internal links and all images, for a document that does not typeset otherwise. */
export function preparePdfDocument(
  json: string,
  { media, keepReferences }: { media: ReadonlyMap<string, Uint8Array>; keepReferences: boolean },
) {
  const document: unknown = JSON.parse(json);
  const preparation: Preparation = {
    media,
    keepReferences,
    anchors: new Set(),
    usedAnchors: new Set(),
    images: new Map(),
    missing: [],
  };
  collectAnchors(document, preparation.anchors);
  const meta = prepareMetadata(isObject(document) ? document['meta'] : undefined, preparation);
  const prepared = isObject(document)
    ? { ...document, meta, blocks: prepare(document['blocks'], preparation) }
    : document;
  return {
    json: JSON.stringify(prepared),
    /** A title, an author, a language and the like, of which something stands around the text. */
    hasMetadata: Object.keys(meta).length > 0,
    images: preparation.images,
    missing: preparation.missing,
  };
}

function prepareMetadata(meta: unknown, preparation: Preparation): Record<string, unknown> {
  if (!isObject(meta)) return {};
  const kept = Object.entries(meta).filter(
    ([key, value]) => keptMetadata.has(key) && (key !== 'lang' || isLanguage(value)),
  );
  return Object.fromEntries(kept.map(([key, value]) => [key, prepare(value, preparation)]));
}

function isLanguage(value: unknown): boolean {
  return /^[A-Za-z]{2,3}(-[A-Za-z]{2,8})*$/.test(textOf(value));
}

function prepare(value: unknown, preparation: Preparation): unknown {
  return rewrite(value, (each) => {
    if (isAttributes(each)) return prepareAttributes(each, preparation);
    return isNode(each) ? prepareNode(each, preparation) : undefined;
  });
}

/** Undefined: what it is stays, and its parts are prepared. */
function prepareNode(node: Node, preparation: Preparation): unknown {
  switch (node.t) {
    case 'RawBlock':
      return { t: 'Plain', c: [] };
    case 'RawInline':
      return plainSpan([]);
    case 'Cite':
      // typst fails on a citation without its bibliography, and no bibliography comes with one file.
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
  const [attributes, alternative] = [part(node, 0), part(node, 1)];
  return { t: 'Image', c: [prepare(attributes, preparation), prepare(alternative, preparation), [name, '']] };
}

/**
 * Of a row whose cells are all covered from above pandoc writes a comma alone, which typst refuses. Without the row the cells below
 * it stay where they are: typst puts them into the next places that are free.
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

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function prepareAttributes(attributes: Attributes, { anchors, usedAnchors }: Preparation): Attributes {
  const [id, classes, pairs] = attributes;
  const keepId = anchors.has(id) && !usedAnchors.has(id);
  if (keepId) usedAnchors.add(id);
  return [
    keepId ? id : '',
    classes.filter((name) => safeClass.test(name)),
    pairs.filter(([key, value]) => safeAttributes[key]?.test(value) ?? false),
  ];
}

function collectAnchors(value: unknown, anchors: Set<string>): void {
  if (Array.isArray(value)) {
    for (const item of value) collectAnchors(item, anchors);
  } else if (isObject(value)) {
    if (isNode(value) && anchored.has(value.t)) {
      const attributes = Array.isArray(value.c) ? value.c.find(isAttributes) : undefined;
      if (attributes && safeIdentifier.test(attributes[0])) anchors.add(attributes[0]);
    }
    for (const item of Object.values(value)) collectAnchors(item, anchors);
  }
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

/** The text in metadata, without its markup. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(textOf).join('');
  if (isNode(value)) return textOf(value.c);
  return '';
}
