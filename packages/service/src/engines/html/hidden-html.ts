import { attribute, has, pageRules } from './html-page';
import { count } from '../input';
import { hasWords } from '../words';

/** Finds elements of a page that no browser shows, because of their styles or their kind. */

/** Comments, scripts and the like match as a whole, so that nothing in them is taken for a tag. */
const tag =
  /<!--[^]*?(?:-->|$)|<(script|style|title|textarea)\b[^]*?(?:<\/\1\s*>|$)|<(\/?)([a-z][\w:-]*)((?:"[^"]*(?:"|$)|'[^']*(?:'|$)|[^>"'])*)(?:>|$)/gi;
const empty = /^(?:area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr)$/;
const neverShown = /^(?:template|datalist)$/;
/** Elements before which others end without an end tag. */
const endedBy: Readonly<Record<string, RegExp>> = {
  p: /^(?:address|article|aside|blockquote|div|dl|fieldset|figure|footer|form|h[1-6]|header|hr|main|nav|ol|p|pre|section|table|ul)$/,
  ...{ li: /^li$/, dt: /^d[td]$/, dd: /^d[td]$/, option: /^opt/ },
  ...{ td: /^t(?:[dhr]|body|foot)$/, th: /^t(?:[dhr]|body|foot)$/, tr: /^t(?:r|body|foot)$/ },
  ...{ thead: /^t(?:body|foot)$/, tbody: /^t(?:body|foot)$/ },
};

/** A page without hidden elements, and their text. A page that would lose all of its text stays as it is: a script may show it. */
export function withoutHiddenElements(html: string): { html: string; hidden: string } {
  const isHidden = hiding(html);
  const open: { name: string; start: number; isHidden: boolean }[] = [];
  const counts = new Map<string, number>();
  let [shown, hidden, at, hiddenCount] = ['', '', 0, 0];
  const take = (start: number, end: number): void => {
    shown += html.slice(at, start);
    hidden += `${html.slice(start, end)} `;
    at = end;
  };
  const close = (end: number): void => {
    const element = open.pop();
    if (!element) return;
    counts.set(element.name, (counts.get(element.name) ?? 0) - 1);
    if (!element.isHidden) return;
    hiddenCount -= 1;
    if (hiddenCount === 0) take(element.start, end);
  };
  for (const { 0: found, 2: slash, 3: written, 4: attributes = '', index: start } of html.matchAll(tag)) {
    if (written === undefined) continue;
    const [name, end] = [written.toLowerCase(), start + found.length];
    if (slash === '/') {
      if ((counts.get(name) ?? 0) === 0) continue;
      while (open.at(-1)?.name !== name) close(start);
      close(end);
      continue;
    }
    while (endedBy[open.at(-1)?.name ?? '']?.test(name) === true) close(start);
    const element = { name, start, isHidden: isHidden(name, attributes) };
    if (empty.test(name) || attributes.endsWith('/')) {
      if (element.isHidden && hiddenCount === 0) take(start, end);
      continue;
    }
    open.push(element);
    counts.set(name, (counts.get(name) ?? 0) + 1);
    if (element.isHidden) hiddenCount += 1;
  }
  while (open.length > 0) close(html.length);
  shown += html.slice(at);
  return hasWords(textOf(shown)) ? { html: shown, hidden: textOf(hidden) } : { html, hidden: '' };
}

function textOf(html: string): string {
  return html.replace(tag, ' ');
}

/** Specificity with which rules hide or show what they select, by element, class or identifier. */
interface Specificities {
  readonly hides: Map<string, number>;
  readonly shows: Map<string, number>;
}

/** Whether an element is always hidden; elements that are hidden only sometimes, such as in small windows, are not. */
function hiding(html: string): (name: string, attributes: string) => boolean {
  const { always, sometimes } = pageRules(html);
  const rules = { hides: new Map<string, number>(), shows: new Map<string, number>() };
  addRules(rules, always, true);
  addRules(rules, sometimes.join('\n'), false);
  const strongest = (of: Map<string, number>, keys: readonly string[]) =>
    keys.reduce((most, key) => Math.max(most, of.get(key) ?? -1), -1);
  return (name, attributes) => {
    if (name === 'html' || name === 'body') return false;
    if (neverShown.test(name) || (name === 'dialog' && !has(attributes, 'open'))) return true;
    const own = displayOf(attribute(attributes, 'style') ?? '');
    const isMarked = has(attributes, 'hidden') && !/^until-found$/i.test(attribute(attributes, 'hidden') ?? '');
    if (own?.isNone === true) return true;
    if (rules.hides.size === 0 || own) return isMarked && !own;
    const classes = (attribute(attributes, 'class') ?? '').split(/\s+/).map((each) => `.${each}`);
    const names = [...classes, `#${attribute(attributes, 'id') ?? ''}`];
    const keys = [name, ...names, ...names.map((each) => name + each), ...(isMarked ? ['[hidden]'] : [])];
    return Math.max(strongest(rules.hides, keys), isMarked ? 0 : -1) > strongest(rules.shows, keys);
  };
}

function addRules({ hides, shows }: Specificities, css: string, isAlways: boolean): void {
  for (const [order, rule] of css.split('}').entries()) {
    const [selectors = '', declarations = ''] = rule.split('{').slice(-2);
    const display = displayOf(declarations);
    if (!display) continue;
    for (const whole of selectors.split(',').map((each) => each.trim())) {
      const last = whole.split(/[\s>+~]+/).at(-1) ?? '';
      const isSimple = last === whole && /^(?:[a-z][\w-]*)?(?:[.#][\w-]+)?$|^\[hidden\]$/i.test(whole);
      if (/:(?:before|after)|::/i.test(last) || (display.isNone && !(isSimple && isAlways))) continue;
      const names = last.split(':', 1)[0]?.match(/[.#][\w-]+|\[hidden\]/g) ?? /^[a-z][\w-]*/i.exec(last) ?? [];
      const weight = count(whole, /#/g) * 1e4 + count(whole, /[.[:]/g) * 1e2 + count(whole, /(?:^|[\s>+~])[a-z]/gi);
      for (const key of isSimple ? [last] : names) {
        const of = display.isNone ? hides : shows;
        of.set(key, Math.max(of.get(key) ?? -1, weight + 0.5 + order * 1e-7 + (display.isImportant ? 1e8 : 0)));
      }
    }
  }
}

/** By the last `display` declaration. */
function displayOf(declarations: string): { isNone: boolean; isImportant: boolean } | undefined {
  const all = Array.from(declarations.matchAll(/(?:^|[;\s])display\s*:\s*([\w-]+)\s*(!\s*important)?/gi));
  const [, value, important] = all.at(-1) ?? [];
  return value === undefined ? undefined : { isNone: /^none$/i.test(value), isImportant: important !== undefined };
}
