/** Abbreviations and terms of the packages glossaries and glossaries-extra, of which pandoc writes the keys. */

/** A part in braces, and one in brackets. */
export const group = String.raw`\{(?:[^{}]|\{[^{}]*\})*\}`;
export const option = String.raw`\[(?:${group}|[^\]{}]){0,2000}\]`;

/** A term where it stands in the text, or the place of the list of all. */
export const terms = String.raw`\\(gls(?:pl|xtrshort|xtrlong|xtrfull)?|G[Ll][Ss](?:pl)?|acr(?:short|long|full)(?:pl)?|printglossar(?:y|ies)|printacronyms)(?![a-zA-Z])\*?(?:\s*${option})?(?:\s*\{([^{}]*)\})?`;

/** With parts in braces that have such parts themselves. */
const fieldsInBraces = String.raw`\{(?:[^{}]|${group})*\}`;

const definition = new RegExp(
  String.raw`\\new(?:(acronym|abbreviation)\s*(?:${option})?\s*\{([^{}]*)\}\s*(${group})\s*(${group})|glossaryentry\s*\{([^{}]*)\}\s*(${fieldsInBraces}))`,
  'g',
);

interface Term {
  readonly short: string;
  /** Of an abbreviation. */
  readonly long?: string;
  readonly plural?: string | undefined;
  readonly description: string;
}

/** What stands for a command and its key in the document; undefined for one that it does not define. */
export function glossaryOf(text: string): (command: string, key: string) => string | undefined {
  const known = new Map<string, Term>();
  for (const [, kind, key = '', short = '', long = '', name = '', fields = ''] of text.matchAll(definition)) {
    if (kind !== undefined) {
      known.set(key, { short: inner(short), long: inner(long), description: inner(long) });
      continue;
    }
    const of = (field: string) => {
      const [, value] = new RegExp(String.raw`\b${field}\s*=\s*(${group}|[^,{}]+)`).exec(fields.slice(1, -1)) ?? [];
      return value === undefined ? undefined : inner(value.trim());
    };
    known.set(name, { short: of('name') ?? name, plural: of('plural'), description: of('description') ?? '' });
  }
  const used = new Set<string>();
  let isListed = false;
  return (command, spacedKey) => {
    const key = spacedKey.trim();
    if (command.startsWith('print')) {
      // One list for both `\printacronyms` and `\printglossaries`.
      const list = known.size === 0 || isListed ? undefined : listOf(known);
      isListed ||= list !== undefined;
      return list;
    }
    const term = known.get(key);
    if (!term) return undefined;
    const end = command.endsWith('pl') ? 's' : '';
    const plural = term.plural ?? `${term.short}${end}`;
    const short = end === '' ? term.short : plural;
    const { long = term.short } = term;
    const isFirst = term.long !== undefined && !used.has(key);
    if (command.toLowerCase().startsWith('gls') && !command.includes('xtr')) used.add(key);
    if (command.includes('short')) return short;
    if (command.includes('long')) return `${long}${end}`;
    const shown = command.includes('full') || isFirst ? `${long}${end} (${short})` : short;
    if (command.startsWith('GLS')) return shown.toUpperCase();
    return command.startsWith('G') ? `${shown.charAt(0).toUpperCase()}${shown.slice(1)}` : shown;
  };
}

function inner(text: string): string {
  return text.replace(/^\{([^]*)\}$/, '$1');
}

function listOf(known: ReadonlyMap<string, Term>): string {
  const items = Array.from(known.values(), ({ short, description }) => `\\item[${short}] ${description}`);
  return `\n\n\\begin{description}\n${items.join('\n')}\n\\end{description}\n\n`;
}
