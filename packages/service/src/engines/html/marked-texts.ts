import path from 'node:path';
import { entriesOf, textOfEntry } from '../archive';
import { pagesOf } from './html-page';
import { decodeXml } from '../xml';

/** The words of XML documents and of the pages of books; pandoc skips elements that it does not know. */

/** Parts without words, or with others in the result: CDATA is literal, formulas and drawings change, tables of contents are generated. */
const apart =
  /<!\[CDATA\[([^]*?)\]\]>|<!--[^]*?(?:-->|$)|<\?[^]*?\?>|<!DOCTYPE(?:[^[>]|\[[^\]]*\])*>|<((?:\w+:)?(?:math|tex-math|head|script|style|stylesheet|svg|binary|description|nav))(?=[\s>])[^]*?(?:<\/\2\s*>|$)/gi;
/** References to notes, which are renumbered, and their numbers used as titles. */
const sign = /<a(?=\s)[^<>]*\s(?:epub:)?type\s*=\s*["']note(?:ref)?["'][^<>]*>[^]*?<\/a\s*>/g;
const notes = /<body\s[^<>]*\bname\s*=\s*["'](?:notes|comments)["'][^]*?<\/body\s*>/g;
const tag = /<(?:"[^"]*"|'[^']*'|[^<>"'])*>/g;
/** A word with an entity that only the DTD of the file defines. */
const unknown = /[\p{L}\p{M}\p{N}]*&\w+;[\p{L}\p{M}\p{N}]*/gu;

export function textOfMarkup(xml: string): string {
  const shown = xml
    .replace(apart, (_whole, data?: string) => ` ${data?.replaceAll('<', ' ') ?? ''} `)
    .replace(notes, (body) => body.replace(/<title(?=[\s>])[^]*?<\/title\s*>/g, ' '))
    .replace(sign, ' ')
    .replace(tag, ' ');
  return decodeXml(shown).replace(unknown, ' ');
}

/** The text of the pages in the reading order of a book. */
export function textOfBook(book: Buffer): string {
  const lists = entriesOf(book).filter(({ name }) => name.endsWith('.opf'));
  const pages = lists.flatMap((list) =>
    pagesOf(textOfEntry(book, list) ?? '').map((page) => path.posix.join(path.posix.dirname(list.name), page)),
  );
  const shown = entriesOf(book).filter(({ name }) => pages.includes(name) || pages.includes(encodeURI(name)));
  return shown.map((page) => textOfMarkup(textOfEntry(book, page) ?? '')).join('\n');
}
