import { editParts } from '../archive';
import { fewOf, type Warnings } from '../conversion';
import { withWholeTables } from './html-tables';
import { hasWords } from '../words';
import { decodeXml } from '../xml';

/** Parts of a page that browsers show and pandoc drops: form values, embedded pages, and everything outside the main part. */

/** Comments, scripts, styles and titles match as a whole, so that nothing inside them is taken for an element. */
const part =
  /<!--[^]*?(?:-->|$)|<(script|style|title)\b[^]*?(?:<\/\1\s*>|$)|<textarea\b[^>]*(?:>|$)([^]*?)(?:<\/textarea\s*>|$)|<select\b([^<>]*)>((?:(?!<select\b)[^])*?)<\/select\s*>|<input\b((?:"[^"]*(?:"|$)|'[^']*(?:'|$)|[^>"'])*)(?:>|$)|<iframe\b((?:"[^"]*(?:"|$)|'[^']*(?:'|$)|[^>"'])*)(?:>|$)|<\/?main(?=[\s>])[^>]*(?:>|$)|<\w[^<>]*\srole\s*=\s*["']?main(?=["'\s>])[^>]*(?:>|$)/gi;
const options = /<option\b((?:"[^"]*(?:"|$)|'[^']*(?:'|$)|[^>"'])*)(?:>|$)([^<]*)/gi;
const withoutText = /^(hidden|image|file|password|color|range)$/i;
const frame = /<!doctype[^>]*(?:>|$)|<head\b(?:(?!<head\b)[^])*?<\/head\s*>|<\/?(?:html|body)\b[^>]*(?:>|$)/gi;

/** A picture that a script loads only when it is scrolled into view. */
const lazy = /<img\b(?![^<>]*\ssrc\s*=)([^<>]*?)\sdata-src\s*=/gi;

/**
 * The page rewritten so that pandoc reads all of it: form values as text, check boxes as signs, framed pages in their places, lazy
 * pictures, whole tables, and no main part, because pandoc would read nothing else.
 */
export function readablePage(html: string): string {
  return withWholeTables(
    html
      .replace(lazy, '<img$1 src=')
      .replace(
        part,
        (
          whole,
          left?: string,
          area?: string,
          ofSelect?: string,
          choices?: string,
          ofInput?: string,
          ofFrame?: string,
        ) => {
          if (area !== undefined) return area.replaceAll('<', '&lt;');
          if (choices !== undefined) return chosen(choices, has(ofSelect, 'multiple'));
          if (ofFrame !== undefined) {
            const page = attribute(ofFrame, 'srcdoc');
            return page === undefined ? whole : `<div>${readablePage(decodeXml(page).replace(frame, ''))}</div>`;
          }
          if (left !== undefined || whole.startsWith('<!')) return whole;
          if (ofInput === undefined) return withoutMain(whole);
          const type = attribute(ofInput, 'type') ?? 'text';
          if (/^(checkbox|radio)$/i.test(type)) return has(ofInput, 'checked') ? '\u2612' : '\u2610';
          return withoutText.test(type) ? whole : (attribute(ofInput, 'value') ?? '').replaceAll('<', '&lt;');
        },
      ),
  );
}

/**
 * A book of which pandoc reads all pages in full, including those outside the reading order (except the contents) and those in HTML or
 * SVG.
 */
export function readableBook(book: Buffer): Buffer {
  return editParts(book, /\.opf$|\.[xX]?[hH][tT][mM][lL]?$/, (text, name) =>
    name.endsWith('.opf') ? withAllPages(text) : withAllNotes(readablePage(text)),
  );
}

/** pandoc drops title pages, and notes that no reference on the same page calls; here they become text. */
function withAllNotes(page: string): string {
  const signs = page.match(/<a(?=\s)[^<>]*\sepub:type\s*=\s*["']noteref["'][^<>]*>/g) ?? [];
  const called = new Set(signs.map((sign) => attribute(sign, 'href')));
  return page.replace(
    /(<\w[^<>]*?)\s(?:epub:)?type\s*=\s*["'](?:(?:foot|rear)notes?|titlepage)["']([^<>]*>)/g,
    (tag, start: string, end: string) => (called.has(`#${attribute(tag, 'id')}`) ? tag : start + end),
  );
}

const pageOfList = /<(?:\w+:)?itemref\s[^<>]*>/g;

function itemsOf(list: string): ReadonlyMap<string | undefined, string> {
  return new Map(Array.from(list.matchAll(/<(?:\w+:)?item\s[^<>]*>/g), ([item]) => [attribute(item, 'id'), item]));
}

function isContents(item = ''): boolean {
  return /\bnav\b/.test(attribute(item, 'properties') ?? '');
}

function withAllPages(list: string): string {
  const pages = list.replace(
    /(\smedia-type\s*=\s*["'])(?:text\/html|image\/svg\+xml)(?=["'])/g,
    '$1application/xhtml+xml',
  );
  const items = itemsOf(pages);
  // An item that is neither a page nor a picture names a fallback to be shown instead.
  const shownFor = (id: string, depth = 0): string => {
    const item = items.get(id) ?? '';
    const other = attribute(item, 'fallback');
    const isShown = /xhtml|^image/.test(attribute(item, 'media-type') ?? '') || other === undefined || depth > 9;
    return isShown ? id : shownFor(other, depth + 1);
  };
  return pages.replace(pageOfList, (page) => {
    const id = attribute(page, 'idref') ?? '';
    if (isContents(items.get(id))) return page;
    return page.replace(/\slinear\s*=\s*["']no["']/, '').replace(`"${id}"`, `"${shownFor(id)}"`);
  });
}

/** Paths of the pages in the reading order of a book, except its contents. */
export function pagesOf(list: string): string[] {
  const whole = withAllPages(list);
  const items = itemsOf(whole);
  const shown = (whole.match(pageOfList) ?? []).map((page) => items.get(attribute(page, 'idref')) ?? '');
  return shown
    .filter((item) => !isContents(item) && attribute(item, 'media-type') === 'application/xhtml+xml')
    .map((item) => decodeXml(attribute(item, 'href') ?? ''));
}

function withoutMain(tag: string): string {
  return tag.replace(/^(<\/?)main\b/i, '$1div').replace(/\srole\s*=\s*(["']?)main\1(?=[\s/>])/i, '');
}

const styles = /<style\b([^>]*)(?:>|$)([^]*?)(?:<\/style\s*>|$)|<script\b[^]*?(?:<\/script\s*>|$)|<!--[^]*?(?:-->|$)/gi;
const forMedia = /@[\w-]+[^{};@]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}/g;

/** The style rules of a page: those that always apply, and those for some media. */
export function pageRules(html: string): { always: string; sometimes: readonly string[] } {
  const all = Array.from(html.matchAll(styles), ([, attributes, rules = '']) => {
    const media = attributes === undefined ? undefined : attribute(attributes, 'media');
    const plain = rules.replace(/\/\*[^]*?(?:\*\/|$)/g, '');
    return media === undefined || /^\s*(?:all|screen)\s*$/i.test(media) ? plain : `@media ${media}{${plain}}`;
  });
  const css = all.join('\n');
  return { always: css.replace(forMedia, ''), sometimes: css.match(forMedia) ?? [] };
}

const generating = /^(.*?)::?(?:before|after)\b/is;

/** Warns about text that the styles of a page add to its elements; the glyphs of icon fonts do not count. */
export function describeGenerated(html: string): Warnings {
  const { always, sometimes } = pageRules(html);
  const css = [always, ...sometimes.filter((block) => !/^@media[^{]*\bprint\b/i.test(block))].join('\n');
  const body = new Set(
    html
      .replace(styles, '')
      .toLowerCase()
      .match(/(?<=[<\s"'=])[\w-]+/g),
  );
  const added = css.split('}').flatMap((rule) => {
    const [selector = '', declarations = ''] = rule.split('{').slice(-2);
    const [, styled] = generating.exec(selector) ?? [];
    const [, content = ''] = styled === undefined ? [] : (/\bcontent\s*:\s*([^;]*)/i.exec(declarations) ?? []);
    const text = content.replace(/\\[\da-f]{1,6}/gi, '').replace(/\b(none|normal|\w+-quote)\b/, '');
    const element = (styled?.trim() ?? '').split(/[\s>+~,]/).at(-1) ?? '';
    const names = element.replace(/\[[^\]]*(?:\]|$)|:.*/g, '').match(/[\w-]+/g) ?? [];
    return hasWords(text) && names.every((name) => body.has(name.toLowerCase())) ? [element] : [];
  });
  if (added.length === 0) return {};
  const message = `Text that ${added.length} rule(s) of the page's styles add to it (content) is not in the result: that of ${fewOf([...new Set(added)])}. A browser can save the page as PDF with it.`;
  return { GENERATED_TEXT_LOST: message };
}

function chosen(choices: string, isMultiple: boolean): string {
  const all = Array.from(choices.matchAll(options), ([, attributes, text = '']) => ({
    text: text.trim(),
    isSelected: has(attributes, 'selected'),
  }));
  const selected = all.filter(({ isSelected }) => isSelected);
  const shown = selected.length > 0 || isMultiple ? selected : all.slice(0, 1);
  return shown.map(({ text }) => text).join(', ');
}

export function attribute(attributes: string, name: string): string | undefined {
  const found = new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s"'>]+))`, 'i').exec(` ${attributes}`);
  const values: (string | undefined)[] = found?.slice(1) ?? [];
  return values.find((each) => each !== undefined);
}

export function has(attributes: string | undefined, name: string): boolean {
  return new RegExp(`\\s${name}(?=[\\s=/]|$)`, 'i').test(` ${attributes?.replace(/"[^"]*"|'[^']*'/g, '""') ?? ''}`);
}
