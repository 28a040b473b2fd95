import { attributeOf } from '../xml';

export interface OpenStyle {
  /** Attributes of its tag, and its contents. */
  readonly attributes: string;
  readonly inside: string;
}

/** Styles of OpenDocument by name. */
export type OpenStyles = ReadonlyMap<string, OpenStyle>;

/** Only those of some families, such as `text`. */
export function stylesOf(xml: string, families: readonly string[]): OpenStyles {
  const all = xml.matchAll(/<style:style(\s[^<>]*?)(?:\/>|>([^]*?)<\/style:style>)/g);
  return new Map(
    Array.from(all, ([, attributes = '', inside = '']) => ({ attributes, inside }))
      .filter(({ attributes }) => families.includes(attributeOf(attributes, 'style:family') ?? ''))
      .map((style) => [attributeOf(style.attributes, 'style:name') ?? '', style]),
  );
}

/** The value that a style sets, or else the nearest of its base styles that sets it. */
export function valueOfStyle<T>(
  styles: OpenStyles,
  name: string | undefined,
  says: (style: OpenStyle) => T | undefined,
): T | undefined {
  let style = styles.get(name ?? '');
  // A style may be based on itself.
  for (let depth = 0; style && depth < 20; depth += 1) {
    const value = says(style);
    if (value !== undefined) return value;
    style = styles.get(attributeOf(style.attributes, 'style:parent-style-name') ?? '');
  }
  return undefined;
}
