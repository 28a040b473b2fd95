import { describeMissing, type Warnings } from '../conversion';
import { describeMissingGlyphs } from '../missing-glyphs';
import { decodeXml } from '../xml';
import { lostWords, someWords } from '../words';

/** Warns about what is not drawn of an SVG: letters without a font, HTML within it, and files beside it. */

const foreign = /<(\w+:)?foreignObject(?:\s[^<>]*)?(?<!\/)>[^]*?<\/\1foreignObject>/g;
/** Programs draw only the first child of a `switch` that they support. */
const unseen =
  /<(\w+:)?switch(?:\s[^<>]*)?>\s*<\1foreignObject(?![^<>]*\srequired(?:Features|Extensions)=)(?:\s[^<>]*)?>[^]*?<\/\1switch>/g;
const text = /<(\w+:)?text(?:\s[^<>]*)?(?<!\/)>[^]*?<\/\1text>/g;
/** Files that it shows; references within it begin with a hash. */
const shownFile =
  /<(?:\?xml-stylesheet|(?:\w+:)?(?:image|use|feImage))\s[^<>]*?(?<![\w-])href\s*=\s*["']([^"']*)|@import\s+(?:url\(\s*)?["']?([^"')\s;]+)/g;

export async function describeUndrawn(svg: string): Promise<Warnings> {
  const shown = svg.replace(/<!--[^]*?-->/g, '');
  const rest = shown.replace(unseen, ' ').replace(foreign, ' ');
  // Programs repeat their labels as text, for renderers without HTML.
  const drawn = wordsOf(rest.match(text));
  const lost = lostWords(wordsOf(shown.match(foreign)), drawn);
  const files = Array.from(rest.matchAll(shownFile), ([, file, style = '']) => (file ?? style).trim());
  return {
    ...(await describeMissingGlyphs(drawn)).warnings,
    ...(lost.length > 0 && {
      TEXT_LOST: `Not in the result: ${someWords(lost)} of HTML within the SVG (foreignObject). Export it with plain text, or as PNG or PDF by the program that has made it.`,
    }),
    ...describeMissing(files.filter((file) => file !== '' && !/^(#|data:)/i.test(file))),
  };
}

function wordsOf(elements: readonly string[] | null): string {
  const withoutStyles = (elements ?? []).map((each) => each.replace(/<style[\s>][^]*?<\/style>/gi, ''));
  return decodeXml(withoutStyles.map((each) => each.replace(/<[^<>]*>/g, ' ')).join('\n'));
}
