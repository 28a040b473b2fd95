/** Documents as pandoc writes and reads them in JSON. */

/** As far as it is looked into here: everything is a node `{ t, c }`. */
export interface Node {
  t: string;
  c?: unknown;
}

export type Attributes = [id: string, classes: string[], pairs: [string, string][]];

/** Attributes have the same form everywhere: an identifier, classes and pairs. */
export function isAttributes(value: unknown): value is Attributes {
  if (!Array.isArray(value) || value.length !== 3) return false;
  const items: readonly unknown[] = value;
  const [id, classes, pairs] = items;
  return (
    typeof id === 'string' &&
    Array.isArray(classes) &&
    classes.every((item) => typeof item === 'string') &&
    Array.isArray(pairs) &&
    pairs.every((pair) => Array.isArray(pair) && pair.length === 2 && pair.every((item) => typeof item === 'string'))
  );
}

/** One part of a node. */
export function part(node: Node, index: number): unknown {
  return Array.isArray(node.c) ? node.c[index] : undefined;
}

/** The URL of a target `[url, title]`. */
export function firstOf(value: unknown): string {
  const first: unknown = Array.isArray(value) ? value[0] : undefined;
  return typeof first === 'string' ? first : '';
}

export function isNode(value: unknown): value is Node {
  return isObject(value) && typeof value['t'] === 'string';
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The kinds of inlines that are created here. */
export type Inline = { t: 'Str'; c: string } | { t: 'Space' | 'LineBreak' } | { t: 'Link'; c: unknown[] };

/**
 * Text without markup as a pandoc document (JSON): an empty line ends a paragraph, every other line end is kept, and nothing
 * in it is markup.
 */
export function plainTextDocument(text: string): string {
  const paragraphs = text.split(/\n[ \t]*\n+/).filter((paragraph) => paragraph.trim() !== '');
  const blocks = paragraphs.map((paragraph) => ({ t: 'Para', c: textInlines(paragraph) }));
  return JSON.stringify({ 'pandoc-api-version': [1, 23, 1], meta: {}, blocks });
}

/** Words, the spaces between them, and the ends of lines that are not empty. */
export function textInlines(text: string): Inline[] {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return lines.flatMap((line, index) => [...(index === 0 ? [] : [{ t: 'LineBreak' } as const]), ...lineInlines(line)]);
}

function lineInlines(line: string): Inline[] {
  // Other spaces, such as those that do not break, are letters like any other.
  const words = line.split(/[ \t\f\v]+/).filter((word) => word !== '');
  return words.flatMap((word, index): Inline[] => [
    ...(index === 0 ? [] : [{ t: 'Space' } as const]),
    { t: 'Str', c: word },
  ]);
}

const mediaTypes = { png: 'image/png', jpg: 'image/jpeg', gif: 'image/gif', webp: 'image/webp', svg: 'image/svg+xml' };

/**
 * A pandoc document (JSON) in which every image is a data: URI; an image that is not in the document gives way to its
 * description. For writers that fail on a missing image, or leave it out without a word.
 */
export function embedImages(
  json: string,
  media: ReadonlyMap<string, Uint8Array>,
): { json: string; missing: readonly string[] } {
  const missing: string[] = [];
  const embed = (value: unknown): unknown =>
    rewrite(value, (node) => {
      if (!isNode(node) || node.t !== 'Image') return undefined;
      const source = firstOf(part(node, 2));
      const description = embed(part(node, 1));
      const data = media.get(source);
      if (data) return { t: 'Image', c: [part(node, 0), description, [toDataUri(data), '']] };
      if (source.startsWith('data:')) return node;
      missing.push(source === '' ? 'an image without a source' : source);
      return { t: 'Span', c: [['', [], []], description] };
    });
  return { json: JSON.stringify(embed(JSON.parse(json))), missing };
}

/** A copy in which other values stand where `replace` returns some. What it replaces is its own to go through. */
export function rewrite(value: unknown, replace: (part: unknown) => unknown): unknown {
  const replaced = replace(value);
  if (replaced !== undefined) return replaced;
  if (Array.isArray(value)) return value.map((item) => rewrite(item, replace));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, rewrite(item, replace)]));
}

function toDataUri(data: Uint8Array): string {
  const kind = imageKind(data);
  const mediaType = kind === undefined ? 'application/octet-stream' : mediaTypes[kind];
  return `data:${mediaType};base64,${Buffer.from(data).toString('base64')}`;
}

/** The images that typst typesets, told by their first bytes: what a document calls an image need not be one. */
type ImageKind = 'png' | 'jpg' | 'gif' | 'webp' | 'svg';

export function imageKind(data: Uint8Array): ImageKind | undefined {
  const head = Buffer.from(data.subarray(0, 1024)).toString('latin1');
  if (head.startsWith('\x89PNG\r\n\x1a\n')) return 'png';
  if (head.startsWith('\xff\xd8\xff')) return 'jpg';
  if (head.startsWith('GIF8')) return 'gif';
  if (head.startsWith('RIFF') && head.slice(8, 12) === 'WEBP') return 'webp';
  if (/^(\xef\xbb\xbf)?\s*</.test(head) && head.includes('<svg')) return 'svg';
  return undefined;
}
