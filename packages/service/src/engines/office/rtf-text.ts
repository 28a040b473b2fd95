import { readInFont } from './sign-fonts';

/**
 * Decodes RTF characters that are written as bytes (`\'e0`): their encoding is that of their font, which pandoc's reader ignores. It also
 * drops text that follows a control word or a Unicode escape without a blank (`\b0.`, `\u8217?s`), and knows no surrogate pairs.
 */

/** Encodings by `\fcharset`; other fonts use the encoding of the document. */
const ofFonts: Readonly<Record<number, string>> = {
  77: 'macintosh',
  128: 'shift_jis',
  129: 'euc-kr',
  134: 'gbk',
  136: 'big5',
  161: 'windows-1253',
  162: 'windows-1254',
  163: 'windows-1258',
  177: 'windows-1255',
  178: 'windows-1256',
  186: 'windows-1257',
  204: 'windows-1251',
  222: 'windows-874',
  238: 'windows-1250',
};
/** Encodings by `\ansicpg`, unless the name is `windows-` and the number. */
const ofDocuments: Readonly<Record<number, string>> = {
  932: 'shift_jis',
  936: 'gbk',
  949: 'euc-kr',
  950: 'big5',
  10000: 'macintosh',
  65001: 'utf-8',
};
/** The encoding that pandoc assumes for all bytes. */
const usual = 'windows-1252';

const token = /(?:\\'[\da-f]{2})+|\\([a-z]+)(-?\d+)? ?|\\[^a-z]|[{}]|[^\\{}]+/gi;

interface Group {
  font: number;
  /** Number of fallback characters after a `\u`, for readers without Unicode. */
  skipped: number;
  isFontTable: boolean;
}

/**
 * The document with plain Unicode characters, except for bytes that pandoc reads correctly, with a blank after each control word, and
 * without the fallback characters of Unicode escapes.
 */
export function withUnicodeLetters(rtf: string): string {
  const fonts = new Map<number, string>();
  /** Symbol fonts, whose letters show other signs. */
  const signFonts = new Map<number, string>();
  const signFont = () => signFonts.get(group.font === -1 ? defaultFont : group.font);
  let document = usual;
  let defaultFont = 0;
  let group: Group = { font: -1, skipped: 1, isFontTable: false };
  const outer: Group[] = [];
  /** Fallback characters of the last `\u` that are still to be dropped. */
  let toSkip = 0;
  const control = (name: string, value: number): void => {
    toSkip = 0;
    if (name === 'ansicpg') document = encodingOf(ofDocuments[value] ?? `windows-${value}`);
    else if (name === 'deff') defaultFont = value;
    else if (name === 'fonttbl') group.isFontTable = true;
    else if (name === 'f') group.font = value;
    else if (name === 'plain') group.font = -1;
    else if (name === 'uc') group.skipped = value;
    else if (name === 'u') toSkip = group.skipped;
    else if (name === 'fcharset' && group.isFontTable) {
      const encoding = ofFonts[value];
      if (encoding !== undefined) fonts.set(group.font, encoding);
    }
  };
  const skip = (signs: readonly string[]): string => {
    const left = signs.slice(toSkip);
    toSkip -= signs.length - left.length;
    return left.join('');
  };
  return rtf.replace(token, (text: string, name: string | undefined, value: string | undefined) => {
    if (name !== undefined) {
      control(name, Number(value ?? 0));
      // Text carries all of its own formats, so styles can go: pandoc loops forever on a style that is based on itself, and takes any
      // character style (`\*\cs7\super`) for paragraph style 0, which LibreOffice uses.
      if (name === 'sbasedon' || (name === 's' && value === '0')) return '';
      if (name === 'u') return asText(readInFont(String.fromCharCode(Number(value) & 0xffff), signFont()));
      return name === 'ansicpg' && document !== usual ? '\\ansicpg1252 ' : `${text.trimEnd()} `;
    }
    if (text === '{' || text === '}') {
      if (text === '{') outer.push({ ...group });
      else group = outer.pop() ?? group;
      toSkip = 0;
      return text;
    }
    if (!text.startsWith("\\'")) {
      const [, signs] = (group.isFontTable ? /^\s*(Symbol|Wingdings);/.exec(text) : undefined) ?? [];
      if (signs !== undefined) signFonts.set(group.font, signs);
      if (toSkip === 0) return group.isFontTable || text.startsWith('\\') ? text : asText(readInFont(text, signFont()));
      return skip(text.startsWith('\\') ? [text] : text.replace(/^\n+/, '').split(''));
    }
    const left = skip(text.match(/.{4}/g) ?? []);
    const encoding = fonts.get(group.font === -1 ? defaultFont : group.font) ?? document;
    if (signFont() === undefined && encoding === usual) return left;
    const bytes = Uint8Array.from(left.matchAll(/[\da-f]{2}/gi), ([hex]) => Number.parseInt(hex, 16));
    if (signFont() === undefined) return asText(new TextDecoder(encoding).decode(bytes));
    return asText(readInFont(String.fromCharCode(...bytes), signFont()));
  });
}

/** Bookmark prefix for the number of a list paragraph. Our Lua filter starts the list there; pandoc starts each at 1. */
export const numberMark = 'number of list ';
const listText = /\{\\listtext(?![a-z])([^{}]*)\}((?:[\s}]|\{(?!\\\*)|\\(?!par(?![a-z]))[a-z]+-?\d* ?)*)/g;

/** The document with the number of each list paragraph in a bookmark at the beginning of its text. */
export function withListNumbers(rtf: string): string {
  return rtf.replace(listText, (whole, text: string, formats: string) => {
    const [, number] = /^\s*\(?(\d{1,6})[.):]?\s*$/.exec(text.replace(/\\[a-z]+-?\d* ?/g, '')) ?? [];
    // In front of the `\ls` of its list, the text would belong to no list.
    return number === undefined || !/\\ls\d/.test(formats)
      ? whole
      : `${formats}{\\*\\bkmkstart ${numberMark}${number}}.{\\*\\bkmkend ${numberMark}${number}}`;
  });
}

/** The document with LibreOffice's footnotes made visible: it marks them with `\*`, which lets readers skip them. */
export function withNotes(rtf: string): string {
  return rtf.replace(/\{\\\*(?=\\footnote(?![a-z]))/g, '{');
}

/** Control words that go with deleted text; the ends of its paragraphs, cells and rows stay. */
const content = /^(u|tab|line|pict|footnote|(em|en)(dash|space)|[lr](dbl)?quote|bullet)$/;

/** The document without text that tracked changes have deleted or moved away; pandoc would show it struck through. */
export function withoutDeleted(rtf: string): string {
  const none = { deleted: false, mvf: false };
  let group = none;
  const outer: (typeof group)[] = [];
  return rtf.replace(token, (text: string, name: string | undefined, value: string | undefined) => {
    if (text === '{') outer.push(group);
    else if (text === '}') group = outer.pop() ?? none;
    else if (name === 'plain') group = none;
    else if (name === 'deleted' || name === 'mvf') group = { ...group, [name]: value !== '0' };
    else if ((group.deleted || group.mvf) && (name === undefined ? !/^\\[*\r\n]/.test(text) : content.test(name)))
      return '';
    return text;
  });
}

function encodingOf(label: string): string {
  try {
    return new TextDecoder(label).encoding;
  } catch {
    return usual;
  }
}

function asText(letters: string): string {
  return letters.replace(/[\\{}]/g, '\\$&');
}

const letter = /\\'([\da-f]{2})|\\[a-z]+-?\d* ?|\\[^a-z]|[{}\r\n]/gi;

/** The text of a document or of a part of it; may contain more than is shown. */
export function plainRichText(rtf: string): string {
  // Field instructions, bookmark names and the like.
  const text = withUnicodeLetters(rtf).replace(/\{\\\*\\[a-z]+[^{}]*\}/gi, '');
  return text.replace(letter, (sign: string, byte?: string) => {
    if (byte !== undefined) return new TextDecoder(usual).decode(Uint8Array.of(Number.parseInt(byte, 16)));
    return /^\\(par|tab|line|cell|row|nest|sect|page|footnote|e[mn]dash|bullet)/.test(sign) ? ' ' : '';
  });
}

/** Groups without document text, except for the text boxes and equations that some of them contain. */
const noText = /^(\*|stylesheet|fonttbl|colortbl|info|xe|tcn?|fldinst|pict|listtext|pntext)$/;
const textInIt = /^(shptxt|dptxbxtext|mr)$/;
/** Groups that a file contains twice, or that repeat on every page. */
const aside = /^(shprslt|header[lrf]?|footer[lrf]?)$/;

/** The visible or the hidden text of a document. */
export function richTextOf(rtf: string, { isHidden }: { isHidden: boolean }): string {
  if (isHidden && !/\\v(?![a-z0])/i.test(rtf)) return '';
  let group = { isHidden: false, isText: true, isAside: false };
  const outer: (typeof group)[] = [];
  let found = '';
  for (const [sign, name = sign.slice(1), value] of withUnicodeLetters(withoutDeleted(withNotes(rtf))).matchAll(
    token,
  )) {
    if (sign === '{') outer.push({ ...group });
    else if (sign === '}') group = outer.pop() ?? group;
    else if (noText.test(name)) group.isText = false;
    else if (textInIt.test(name)) {
      group.isText = true;
      found += ' ';
    } else if (aside.test(name)) group.isAside = true;
    else if (name === 'v') group.isHidden = value !== '0';
    else if (name === 'plain') group.isHidden = false;
    else if (group.isHidden === isHidden && group.isText && !group.isAside) found += sign;
    if (group.isHidden !== isHidden) found += found.endsWith(' ') ? '' : ' ';
  }
  return plainRichText(found);
}
