import { readInFont } from './sign-fonts';

/**
 * Letters of RTF that are written as bytes (`\'e0`): in the encoding of their font, of which pandoc's reader knows nothing. It drops what
 * stands behind a control word or a letter in Unicode (`\b0.`, `\u8217?s`) without a blank, and knows no pairs of these.
 */

/** Encodings by `\fcharset`, where they are not those of the document. */
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
/** Encodings by `\ansicpg`, where they are not called `windows-` and the number. */
const ofDocuments: Readonly<Record<number, string>> = {
  932: 'shift_jis',
  936: 'gbk',
  949: 'euc-kr',
  950: 'big5',
  10000: 'macintosh',
  65001: 'utf-8',
};
/** What pandoc takes every byte for. */
const usual = 'windows-1252';

const token = /(?:\\'[\da-f]{2})+|\\([a-z]+)(-?\d+)? ?|\\[^a-z]|[{}]|[^\\{}]+/gi;

interface Group {
  font: number;
  /** How many signs behind a `\u` stand for it where it is not known. */
  skipped: number;
  isFontTable: boolean;
}

/**
 * The document with its letters as they are, but for bytes that pandoc reads as they are meant, with a blank behind each control word, and
 * with nothing in place of what is Unicode.
 */
export function withUnicodeLetters(rtf: string): string {
  const fonts = new Map<number, string>();
  /** Those whose letters are other signs. */
  const signFonts = new Map<number, string>();
  const signFont = () => signFonts.get(group.font === -1 ? usualFont : group.font);
  let document = usual;
  let usualFont = 0;
  let group: Group = { font: -1, skipped: 1, isFontTable: false };
  const outer: Group[] = [];
  /** Signs that stand for the letter before them, and are read by nobody who knows that. */
  let toSkip = 0;
  const control = (name: string, value: number): void => {
    toSkip = 0;
    if (name === 'ansicpg') document = encodingOf(ofDocuments[value] ?? `windows-${value}`);
    else if (name === 'deff') usualFont = value;
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
      // Text carries all of its own formats. Pandoc would read a style that is based on itself for ever.
      // And any style of letters (`\*\cs7\super`) for that of paragraphs of style 0, which those by LibreOffice are.
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
    const encoding = fonts.get(group.font === -1 ? usualFont : group.font) ?? document;
    if (signFont() === undefined && encoding === usual) return left;
    const bytes = Uint8Array.from(left.matchAll(/[\da-f]{2}/gi), ([hex]) => Number.parseInt(hex, 16));
    if (signFont() === undefined) return asText(new TextDecoder(encoding).decode(bytes));
    return asText(readInFont(String.fromCharCode(...bytes), signFont()));
  });
}

/** Before the number of a paragraph in a bookmark, with which the filter has a list begin: pandoc has each begin anew. */
export const numberMark = 'number of list ';
const listText = /\{\\listtext(?![a-z])([^{}]*)\}((?:[\s}]|\{(?!\\\*)|\\(?!par(?![a-z]))[a-z]+-?\d* ?)*)/g;

/** The document with the numbers of lists at the beginning of their texts, in bookmarks. */
export function withListNumbers(rtf: string): string {
  return rtf.replace(listText, (whole, text: string, formats: string) => {
    const [, number] = /^\s*\(?(\d{1,6})[.):]?\s*$/.exec(text.replace(/\\[a-z]+-?\d* ?/g, '')) ?? [];
    // Before the sign of its list, a text would be in none.
    return number === undefined || !/\\ls\d/.test(formats)
      ? whole
      : `${formats}{\\*\\bkmkstart ${numberMark}${number}}.{\\*\\bkmkend ${numberMark}${number}}`;
  });
}

/** The document with the notes that LibreOffice marks as what a reader may pass over. */
export function withNotes(rtf: string): string {
  return rtf.replace(/\{\\\*(?=\\footnote(?![a-z]))/g, '{');
}

/** What goes with a text that was deleted; the ends of its paragraphs, cells and rows stay. */
const content = /^(u|tab|line|pict|footnote|(em|en)(dash|space)|[lr](dbl)?quote|bullet)$/;

/** The document without the text that was deleted, or moved elsewhere, while its changes were tracked: pandoc strikes it through. */
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

/** The text of a part of a document, or of all of it and more. */
export function plainRichText(rtf: string): string {
  // What fields do, names of bookmarks and their like.
  const text = withUnicodeLetters(rtf).replace(/\{\\\*\\[a-z]+[^{}]*\}/gi, '');
  return text.replace(letter, (sign: string, byte?: string) => {
    if (byte !== undefined) return new TextDecoder(usual).decode(Uint8Array.of(Number.parseInt(byte, 16)));
    return /^\\(par|tab|line|cell|row|nest|sect|page|footnote|e[mn]dash|bullet)/.test(sign) ? ' ' : '';
  });
}

/** Groups that are no text of the document, but for texts of boxes and equations in some of them. */
const noText = /^(\*|stylesheet|fonttbl|colortbl|info|xe|tcn?|fldinst|pict|listtext|pntext)$/;
const textInIt = /^(shptxt|dptxbxtext|mr)$/;
/** Those that are in a file twice, or on every page. */
const aside = /^(shprslt|header[lrf]?|footer[lrf]?)$/;

/** The text of a document that is shown, or that nobody sees. */
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
