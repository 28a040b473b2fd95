import path from 'node:path';
import { entriesOf, textOfEntry } from './archive';
import { pagesOf } from './html-page';
import { decodeXml } from './xml';

/** The words of documents of XML and of the pages of books, of whose elements pandoc passes over those that it does not know. */

/** What holds no words, or other ones: CDATA is as it stands, formulas and drawings are written anew, and lists of contents are made. */
const apart =
  /<!\[CDATA\[([^]*?)\]\]>|<!--[^]*?(?:-->|$)|<\?[^]*?\?>|<!DOCTYPE(?:[^[>]|\[[^\]]*\])*>|<((?:\w+:)?(?:math|tex-math|head|script|style|stylesheet|svg|binary|description|nav))(?=[\s>])[^]*?(?:<\/\2\s*>|$)/gi;
/** Signs of notes, which are numbered anew, and their numbers where they stand as titles. */
const sign = /<a(?=\s)[^<>]*\s(?:epub:)?type\s*=\s*["']note(?:ref)?["'][^<>]*>[^]*?<\/a\s*>/g;
const notes = /<body\s[^<>]*\bname\s*=\s*["'](?:notes|comments)["'][^]*?<\/body\s*>/g;
const tag = /<(?:"[^"]*"|'[^']*'|[^<>"'])*>/g;
/** A word with a letter that only the file's DTD knows. */
const unknown = /[\p{L}\p{M}\p{N}]*&\w+;[\p{L}\p{M}\p{N}]*/gu;

export function textOfMarkup(xml: string): string {
  const shown = xml
    .replace(apart, (_whole, data?: string) => ` ${data?.replaceAll('<', ' ') ?? ''} `)
    .replace(notes, (body) => body.replace(/<title(?=[\s>])[^]*?<\/title\s*>/g, ' '))
    .replace(sign, ' ')
    .replace(tag, ' ');
  return decodeXml(shown).replace(unknown, ' ');
}

/** Of the pages that have a place in the book's order of reading. */
export function textOfBook(book: Buffer): string {
  const lists = entriesOf(book).filter(({ name }) => name.endsWith('.opf'));
  const pages = lists.flatMap((list) =>
    pagesOf(textOfEntry(book, list) ?? '').map((page) => path.posix.join(path.posix.dirname(list.name), page)),
  );
  const shown = entriesOf(book).filter(({ name }) => pages.includes(name) || pages.includes(encodeURI(name)));
  return shown.map((page) => textOfMarkup(textOfEntry(book, page) ?? '')).join('\n');
}
