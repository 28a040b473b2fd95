import { imageKind } from './image-kind';
import { firstOf, isNode, isObject, part } from './pandoc-ast';

const mediaTypes = { png: 'image/png', jpg: 'image/jpeg', gif: 'image/gif', webp: 'image/webp', svg: 'image/svg+xml' };

/**
 * A pandoc document (JSON) in which every image is a data: URI; an image that is not in the document gives way to its
 * description. For writers that fail on a missing image, or leave it out without a word.
 */
export function embedImages(
  json: string,
  media: ReadonlyMap<string, Uint8Array>,
): { json: string; missing: readonly string[] } {
  const document: unknown = JSON.parse(json);
  const missing: string[] = [];
  return { json: JSON.stringify(rewrite(document, media, missing)), missing };
}

function rewrite(value: unknown, media: ReadonlyMap<string, Uint8Array>, missing: string[]): unknown {
  if (Array.isArray(value)) return value.map((item) => rewrite(item, media, missing));
  if (!isObject(value)) return value;
  if (isNode(value) && value.t === 'Image') {
    const source = firstOf(part(value, 2));
    const description = rewrite(part(value, 1), media, missing);
    const data = media.get(source);
    if (data) return { t: 'Image', c: [part(value, 0), description, [toDataUri(data), '']] };
    if (source.startsWith('data:')) return value;
    missing.push(source === '' ? 'an image without a source' : source);
    return { t: 'Span', c: [['', [], []], description] };
  }
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, rewrite(item, media, missing)]));
}

function toDataUri(data: Uint8Array): string {
  const kind = imageKind(data);
  const mediaType = kind === undefined ? 'application/octet-stream' : mediaTypes[kind];
  return `data:${mediaType};base64,${Buffer.from(data).toString('base64')}`;
}
