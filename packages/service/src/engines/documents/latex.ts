import { fewOf, type Warnings } from '../conversion';

/** Makes pandoc read text of LaTeX that it would drop: in unknown commands, labels and captions. */

/** Commands that only place or frame text, and signs, each with the rest of its definition. None is the name of an environment. */
const definitions: readonly (readonly [names: string, definition: string])[] = [
  ['fbox shadowbox doublebox ovalbox Ovalbox leftline rightline llap rlap clap reflectbox', '[1]{{#1}}'],
  ['uwave so ce', '[1]{{#1}}'],
  ['path', String.raw`[1]{\nolinkurl{#1}}`],
  ['shortstack makecell thead textls textquote lastshown', '[2][]{{#2}}'],
  ['makebox framebox', String.raw`[1][]{\lastshown}`],
  ['raisebox scalebox captionof', String.raw`[1]{\makebox}`],
  ['rotatebox', '[3][]{{#3}}'],
  ['resizebox fcolorbox', '[3]{{#3}}'],
  ['nicefrac sfrac', '[2]{#1/#2}'],
  ['IEEEPARstart', '[2]{#1#2}'],
  ['subfloat', '[2][]{#2 #1}'],
  ['tnote', String.raw`[1]{\textsuperscript{#1}}`],
  ['marginpar marginnote sidenote todo', String.raw`[2][]{\footnote{#2}}`],
  ['texteuro', '{€}'],
  ['texttrademark', '{™}'],
  ['dag', '{†}'],
  ['ddag', '{‡}'],
  ['checkmark', '{✓}'],
  ['LaTeXe', '{LaTeX2e}'],
];

/** The same for the class moderncv; elsewhere, commands of these names take other arguments. */
const entries: typeof definitions = [
  ['cvlistitem', String.raw`[2][]{\par #2\par}`],
  ['cvitem cvline cvcolumn', String.raw`[3][]{\par \textbf{#2} #3\par}`],
  ['cvlistdoubleitem', String.raw`[3][]{\par #2\par #3\par}`],
  ['cvitemwithcomment cvlanguage', String.raw`[4][]{\par \textbf{#2} #3 \emph{#4}\par}`],
  ['cvdoubleitem cvcomputer', String.raw`[5][]{\par \textbf{#2} #3\par \textbf{#4} #5\par}`],
  ['cventry', String.raw`[7][]{\par #2 \textbf{#3} \emph{#4} #5 #6\par #7\par}`],
];
/** The same for the class letter, whose opening and closing print what earlier commands declare. */
const letters: typeof definitions = [
  ['sender sign sent', '{}'],
  ['date', String.raw`[1]{\renewcommand\sent{#1}}`],
  ['address', String.raw`[1]{\renewcommand\sender{#1}}`],
  ['signature name', String.raw`[1]{\renewcommand\sign{#1}}`],
  ['opening', String.raw`[1]{\par \sender\par \sent\par #1\par}`],
  ['closing', String.raw`[1]{\par #1\par \sign\par}`],
  ['encl', String.raw`[1]{\par encl: #1\par}`],
  ['cc', String.raw`[1]{\par cc: #1\par}`],
];
const ofClass: Readonly<Record<string, typeof definitions>> = { moderncv: entries, letter: letters };
const documentClass = /\\documentclass\s*(?:\[[^\]]*\]\s*)?\{(\w+)\}/;

/** An argument in braces, and an option in brackets. */
const group = String.raw`\{(?:[^{}]|\{[^{}]*\})*\}`;
const option = String.raw`\[(?:${group}|[^\]{}]){0,2000}\]`;

const verbatim = [
  String.raw`\\[\\%]|%[^\n]*|\\verb\*?([^\sa-zA-Z*])[^\n]*?\1`,
  String.raw`\\begin\{(verbatim\*?|Verbatim|minted|comment)\}[^]*?(?:\\end\{\2\}|$)`,
  String.raw`\\begin\{lstlisting\}\s*(${option})?[^]*?(?:\\end\{lstlisting\}|$)`,
].join('|');

/** Constructs that are rewritten here, from columns to labels, and those that are skipped whole. */
const part = new RegExp(
  [
    verbatim,
    String.raw`\\begin\{tabbing\}((?:(?!\\begin\{tabbing\})[^])*?)\\end\{tabbing\}`,
    String.raw`\\(begin|end)\{(\w+)\*?\}`,
    String.raw`\\item\s*(${option})`,
  ].join('|'),
  'g',
);
const list = /^(itemize|enumerate|description|compactitem|compactenum)$/;
/** Floats whose captions pandoc ignores; the wrapping ones have a place and a width after their name. */
const floats: Readonly<Record<string, string>> = {
  ...{ table: 'table', sidewaystable: 'table', wraptable: 'table', margintable: 'table' },
  ...{ sidewaysfigure: 'figure', wrapfigure: 'figure', marginfigure: 'figure', SCfigure: 'figure' },
  ...{ algorithm: 'figure', listing: 'figure' },
};
const placeOfWrap = new RegExp(
  String.raw`(\\begin\{)wrap(\w+\})\s*(?:${option})?\s*\{\w*\}\s*(?:${option})?\s*${group}`,
  'g',
);

/** The document rewritten so that pandoc reads the text in boxes, margins and captions, and the labels of lists. */
export function readableLatex(text: string): string {
  const own = new Set(Array.from(text.matchAll(ownNames), ([, command, environment]) => command ?? environment));
  const all = [...definitions, ...(ofClass[documentClass.exec(text)?.[1] ?? ''] ?? [])];
  const known = all.flatMap(([names, definition]) =>
    names.split(' ').flatMap((name) => (own.has(name) ? [] : [`\\newcommand\\${name}${definition}`])),
  );
  // pandoc drops notes without a mark, such as those for grants.
  const countOf = (name: string) => text.split(name).length;
  if (countOf('\\footnotetext') > countOf('\\footnotemark')) {
    known.push(String.raw`\newcommand\footnotetext[2][]{\footnote{#2}}`);
  }
  const lists: string[] = [];
  const whole = text.replace(placeOfWrap, '$1$2').replace(part, (found, ...groups: (string | undefined)[]) => {
    const [, , options, columns, edge, name = '', label] = groups;
    if (columns !== undefined) return `\\par ${columns.replace(leftOut, '').replace(stops, ' ')}\\par `;
    if (options !== undefined) return `${captionOf(options)}${found}`;
    if (label !== undefined) {
      return lists.at(-1) === 'description' || !hasWords(label) ? found : `\\item {${label.slice(1, -1)}} `;
    }
    if (list.test(name) && edge === 'begin') lists.push(name);
    if (list.test(name) && edge === 'end') lists.pop();
    return name in floats && !own.has(name) ? `\\${edge}{${floats[name]}}` : found;
  });
  return known.join('') + whole;
}

const ownNames = /(?:[cC]ommand\*?\s*\{?|def|let)\s*\\([a-zA-Z]+)|(?:theorem|environment)\*?\s*\{(\w+)/g;
/** In `tabbing`: lines that only set the tabs, and the tab commands. */
const leftOut = /(?:(?!\\\\|\\kill)[^])*\\kill/g;
const stops = /\\[=>+<'`-]/g;

function captionOf(options: string): string {
  const [, caption = ''] = new RegExp(String.raw`\b(?:caption|title)\s*=\s*(${group}|[^,\]]*)`).exec(options) ?? [];
  return caption === '' ? '' : `\n\n${caption.replace(new RegExp(`^\\{${option}`), '{')}\n\n`;
}

/** The text of all captions, without code. */
export function captionsOf(text: string): string {
  const captions = text
    .replace(/(?<!\\)%.*|\\iffalse(?![a-zA-Z])[^]*?\\fi(?![a-zA-Z])/g, '')
    .matchAll(new RegExp(String.raw`\\caption\*?\s*(?:${option})?\s*(${group})`, 'g'));
  return Array.from(captions, ([, caption = '']) => caption.replace(code, ' ')).join('\n');
}

const code = /\$[^$]*\$|\\(?:label|ref|eqref|cite\w*|autoref|cref|Cref)\*?\s*\{[^{}]*\}|\\[a-zA-Z]+\*?/g;

/** Commands whose arguments show no text in place. */
const layout = new RegExp(
  [
    String.raw`^\\(?:(?:re|provide)?new(?!acronym|abbreviation|glossaryentry)|def|let(?:ltx|cs)?$|use[a-z]*(?:theme|library|package)|set|colorlet|declare|require|provide|pass`,
    String.raw`pdf|pgf|lst|tikz[a-z]|at(?:begin|end)|add(?:to|bib|con)|nocite|nobib|bibitem|mark(?:both|right)|glsadd`,
    String.raw`includeonly|numberwithin|graphicspath|hyphenation|geometry|rule|typeout|arabic|alph|roman|c(?:mid)?(?:rule|line)$`,
    String.raw`enlargethispage)|(?:set|setup|style|skip|space|phantom|length|stretch|spread|colou?rs?|counter|format|size|ref|index`,
    String.raw`language|font|family|spacing|template|numbering|layers?)\*?$|width|height`,
  ].join('|'),
  'i',
);

/** A report of pandoc about content that it has not read or not written. */
interface Report {
  readonly type: string;
  /** Of a report by our Lua filter: the source. Line and column are then those of the filter. */
  readonly message?: string | undefined;
  readonly contents?: string | { readonly c?: unknown } | undefined;
  readonly line?: number | undefined;
  readonly column?: number | undefined;
}

/** Warnings for commands and drawings that were dropped with their text, and for conditions. pandoc reports some more than once. */
export function describeCommands(reports: readonly Report[], beginsInLine: number): Warnings {
  const [lost, conditions] = [new Map<string, string>(), new Map<string, string>()];
  for (const [index, { type, message, contents, line, column }] of reports.entries()) {
    const isOfFilter = type === 'ScriptingWarning';
    const place = line === undefined || isOfFilter ? String(index) : `${line}:${column}`;
    const [condition] = /^\\(?:if[a-zA-Z@]*|fi)(?![a-zA-Z@])/.exec(typeof contents === 'string' ? contents : '') ?? [];
    // In the preamble, conditions choose between settings.
    if (condition !== undefined && (line ?? Infinity) >= beginsInLine) conditions.set(place, condition);
    const [format, raw] = typeof contents === 'object' && Array.isArray(contents.c) ? (contents.c as unknown[]) : [];
    const unread = isOfFilter ? message : type === 'SkippedContent' ? contents : undefined;
    const source = /^(latex|tex)$/.test(String(format)) ? raw : unread;
    const name = typeof source === 'string' ? lostCommand(source) : undefined;
    if (name !== undefined) lost.set(place, name);
  }
  const warnings = describeConditions([...conditions.values()]);
  if (lost.size === 0) return warnings;
  const message = `${lost.size} LaTeX command(s) that the engine does not know are not in the result, nor is the text in them: ${fewOf([...new Set(lost.values())])}. Define them in the file with \\newcommand, or convert the PDF that LaTeX makes of it.`;
  return { ...warnings, COMMANDS_LOST: message };
}

/** Counts only `\fi`: an opening inside a condition that pandoc has decided does not matter. */
function describeConditions(ignored: readonly string[]): Warnings {
  const ends = ignored.filter((name) => name === '\\fi').length;
  if (ends === 0) return {};
  const names = new Set(ignored.filter((name) => name !== '\\fi'));
  const which = names.size === 0 ? '' : `: ${fewOf([...names])}`;
  const message = `What ${ends} condition(s) of the LaTeX file choose between is all in the result, because TeX alone can decide them${which}. Remove what does not apply, or convert the PDF that LaTeX makes of it.`;
  return { CONDITIONS_NOT_DECIDED: message };
}

function lostCommand(source: string): string | undefined {
  const [, environment, inside = ''] = /^\\begin\{(\w+\*?)\}([^]*)/.exec(source) ?? [];
  if (environment !== undefined) return /\\end\{|title\s*=/.test(inside) ? environment : undefined;
  const [, command = '', rest = ''] = /^(\\[a-zA-Z@]+\*?)([^]*)/.exec(source) ?? [];
  if (/^\\text(?!width|height|fl)\w/.test(command)) return command;
  return /^\\(begin|end)$/.test(command) || layout.test(command) || !hasWords(/\{[^]*\}/.exec(rest)?.[0] ?? '')
    ? undefined
    : command;
}

function hasWords(text: string): boolean {
  return /[\p{L}\p{N}]/u.test(text.replace(code, ' '));
}
