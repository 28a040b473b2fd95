import { withoutDeleted, withUnicodeLetters } from '../../../src/engines/office/rtf-text';

const fonts = String.raw`{\fonttbl{\f0\fnil\fcharset0 Arial;}{\f1\fcharset204 Arial;}{\f2\fcharset161 Arial;}{\f3\fcharset128 MS;}{\f4\fcharset2 Symbol;}{\f5\fcharset2 Wingdings;}}`;

/** The text of a document after the conversion to Unicode. */
function shown(text: string, { codePage = 1252 } = {}): string {
  const whole = withUnicodeLetters(String.raw`{\rtf1\ansi\ansicpg${codePage}\deff0${fonts}\uc1\b ${text}}`);
  return whole.slice(whole.indexOf(String.raw`\b `) + 3, -1);
}

it.each([
  ['of the font', String.raw`\f1\'cf\'f0\'e8 \f2\'c5\'eb`, String.raw`\f1 При \f2 Ελ`],
  ['of two bytes', String.raw`\f3\'93\'fa\'96\'7b`, String.raw`\f3 日本`],
  ['of the font that a group ends with', String.raw`{\f1\'cf}\'e9`, String.raw`{\f1 П}\'e9`],
  ['of the usual font after \\plain', String.raw`\f1\'cf\plain\'e9`, String.raw`\f1 П\plain \'e9`],
  ['that pandoc reads as they are meant', String.raw`\f0 caf\'e9`, String.raw`\f0 caf\'e9`],
  // A Unicode character is followed by its replacement for older programs.
  ['that stand for a letter in Unicode', String.raw`\f1\u1055\'cf\'f0`, String.raw`\f1 Пр`],
  ['that stand for one, several of them', String.raw`\f1\uc2\u1055\'cf\'cf\'f0`, String.raw`\f1 \uc2 Пр`],
  ['that are signs, and stand for one', String.raw`\u8217?s \u8217 ?5 {\u8217}? \u-10179?\u-8704?x`, '’s ’5 {’}? 😀x'],
  ['behind a control word', String.raw`\b0.\u123?\f1\'cf`, String.raw`\b0 .\{\f1 П`],
  ['of a font of signs', String.raw`\f4 a\'62\u-3997?\f0 a\f5\'fe\u-3842?`, String.raw`\f4 αβχ\f0 a\f5 🗹🗹`],
  ['behind a backslash', String.raw`\f1\\'cf`, String.raw`\f1 \\'cf`],
])('decodes bytes %s', (_which, text, expected) => expect(shown(text)).toBe(expected));

it('decodes bytes in the encoding of the document if the font has none', () => {
  expect(shown(String.raw`\f0\'cf`, { codePage: 1251 })).toBe(String.raw`\f0 П`);
  expect(shown(String.raw`\f0\'cf`, { codePage: 4711 })).toBe(String.raw`\f0 \'cf`);
});

it.each([
  [
    'in a group',
    String.raw`Kept {\b\deleted\revauthdel1 Old\'e9\u8212 ?\tab\~}new`,
    String.raw`Kept {\b\deleted\revauthdel1 }new`,
  ],
  ['up to where it ends', String.raw`\deleted Old {\i Old}\deleted0 new`, String.raw`\deleted {\i }\deleted0 new`],
  ['up to plain text', String.raw`\deleted Old\plain new`, String.raw`\deleted \plain new`],
  ['that was moved away', String.raw`{\mvf Moved}{\mvt Moved}`, String.raw`{\mvf }{\mvt Moved}`],
  ['but for the ends of its paragraphs', String.raw`{\deleted Old\par Old}`, String.raw`{\deleted \par }`],
  [
    'with its pictures',
    String.raw`{\deleted {\*\shppict{\pict\pngblip 8950}}}`,
    String.raw`{\deleted {\*\shppict{\pngblip }}}`,
  ],
  ['and no other', String.raw`{\revised New}{\strike Struck}`, String.raw`{\revised New}{\strike Struck}`],
])('drops deleted text %s', (_which, text, expected) => expect(withoutDeleted(text)).toBe(expected));
