import type { Warnings } from './conversion';
import { isHere } from './programs';
import { lettersWithoutFont } from './typesetter';

/** Characters that every font has, or that are invisible. */
const usual = /[\p{ASCII}\u0080-\u017f\u2010-\u2027\p{M}\p{Cc}\p{Cf}\p{Cs}\p{Cn}\p{Z}]/u;

/** Scripts, each with the Debian package that has a font for it. */
const scripts: readonly (readonly [name: string, letters: RegExp, debian?: string])[] = [
  ['Chinese', /[\p{Script=Han}\p{Script=Bopomofo}]/u, 'fonts-noto-cjk'],
  ['Japanese', /[\p{Script=Hiragana}\p{Script=Katakana}]/u, 'fonts-noto-cjk'],
  ['Korean', /\p{Script=Hangul}/u, 'fonts-noto-cjk'],
  ...['Arabic', 'Armenian', 'Bengali', 'Cyrillic', 'Devanagari', 'Ethiopic', 'Georgian', 'Greek', 'Gujarati'].map(
    ofNoto,
  ),
  ...['Gurmukhi', 'Hebrew', 'Kannada', 'Khmer', 'Lao', 'Malayalam', 'Myanmar', 'Sinhala', 'Tamil', 'Telugu'].map(
    ofNoto,
  ),
  ...['Thai', 'Tibetan'].map(ofNoto),
  ['emoji', /\p{Extended_Pictographic}/u, 'fonts-noto-color-emoji'],
  ['symbols of a font of their own', /\p{Co}/u],
  ['Chinese punctuation', /[\u3000-\u303f\uff00-\uffef]/u, 'fonts-noto-cjk'],
  ['others', /[^]/u, 'fonts-noto-core'],
];

function ofNoto(name: string): [string, RegExp, string] {
  return [name, new RegExp(`\\p{Script=${name}}`, 'u'), 'fonts-noto-core'];
}

/** Warns about the letters of a text that no installed font has, and returns the text without them. */
export async function describeMissingGlyphs(text: string): Promise<{ warnings: Warnings; shown: string }> {
  const counts = new Map<string, number>();
  for (const letter of text) if (!usual.test(letter)) counts.set(letter, (counts.get(letter) ?? 0) + 1);
  if (counts.size === 0 || !isHere({ npm: '@myriaddreamin/typst-ts-node-compiler' }))
    return { warnings: {}, shown: text };
  const missing = await lettersWithoutFont([...counts.keys()]);
  if (missing.length === 0) return { warnings: {}, shown: text };
  const found = scripts.flatMap((script) => {
    const own = missing.filter((letter) => scripts.find(([, letters]) => letters.test(letter)) === script);
    const [name, , debian] = script;
    return own.length === 0 ? [] : [{ name, debian, sample: own.slice(0, 5).join(' ') }];
  });
  const places = missing.reduce((sum, letter) => sum + (counts.get(letter) ?? 0), 0);
  const packages = new Set(found.flatMap(({ debian }) => debian ?? []));
  const install = packages.size > 0 ? ` Run: apt-get install ${[...packages].join(' ')}, and convert it again.` : '';
  const names = found.map(({ name, sample }) => `${name} (${sample})`).join(', ');
  const message = `No font of this machine has ${places} character(s) of the text, and the result shows boxes in their place: ${names}.${install}`;
  const without = new Set(missing);
  const shown = Array.from(text, (letter) => (without.has(letter) ? ' ' : letter)).join('');
  return { warnings: { GLYPHS_MISSING: message }, shown };
}
