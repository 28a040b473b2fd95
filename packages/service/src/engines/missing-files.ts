import { fewOf, oneLine, type Warnings } from './conversion';

/** One warning for all images that the document names but does not contain. */
export function describeMissing(names: readonly string[]): Warnings {
  if (names.length === 0) return {};
  const unique = new Set(names.map((name) => (name.length > 60 ? `${name.slice(0, 57)}...` : name)));
  const message = `Left out, because only the file itself is uploaded: ${fewOf([...unique])}. Put what they hold into it (images as data: URIs), or upload a format that contains them.`;
  return { RESOURCE_NOT_FOUND: oneLine(message) };
}
