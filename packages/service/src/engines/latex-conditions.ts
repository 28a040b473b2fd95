import { fewOf, type Warnings } from './conversion';
import { verbatim } from './latex';

/** Conditions of TeX, of which pandoc decides some, and ends them with those within them. */

const primitive =
  /^if(?:|cat|num|dim|odd|[vhm]mode|inner|void|[hv]box|x|eof|true|false|case|defined|csname|pdf|xetex|luatex|PDFTeX|LuaTeX|XeTeX)$/;
const token = new RegExp(
  [
    verbatim,
    String.raw`\\newif\s*\\(?<declared>if[a-zA-Z@]+)`,
    String.raw`\\(?<name>if[a-zA-Z@]*|else|fi)(?![a-zA-Z@])[ \t]*\n?`,
  ].join('|'),
  'g',
);

interface Condition {
  readonly name: string;
  /** Whether what stands here is left out, and from where on. */
  isOut: boolean;
  start: number;
}

/** A document without what `\iffalse` and `\iftrue` leave out, and a warning of conditions that TeX alone can decide. */
export function withoutFalse(text: string): { text: string; warnings: Warnings } {
  const [open, out, unknown]: [Condition[], [number, number][], string[]] = [[], [], []];
  const own = new Set<string>();
  const begin = text.indexOf('\\begin{document}');
  for (const { 0: found, index, groups } of text.matchAll(token)) {
    const { declared, name } = groups ?? {};
    const end = index + found.length;
    if (declared !== undefined) own.add(declared);
    if (name === undefined) continue;
    if (name.startsWith('if')) {
      if (!primitive.test(name) && !own.has(name)) continue;
      const isDecided = name === 'iftrue' || name === 'iffalse';
      if (!isDecided && !own.has(name) && index > begin && !open.some(({ isOut }) => isOut)) unknown.push(`\\${name}`);
      open.push({ name, isOut: name === 'iffalse', start: index });
      if (name === 'iftrue') out.push([index, end]);
      continue;
    }
    const condition = open.at(-1);
    // Not as TeX would have it.
    if (!condition) return { text, warnings: describeUnknown(unknown) };
    if (name === 'fi') open.pop();
    if (!/^if(true|false)$/.test(condition.name)) continue;
    if (condition.isOut || name === 'fi') out.push([condition.isOut ? condition.start : index, end]);
    Object.assign(condition, { isOut: !condition.isOut, start: index });
  }
  if (open.length > 0) return { text, warnings: describeUnknown(unknown) };
  let [left, at] = ['', 0];
  for (const [start, end] of out.sort(([one], [other]) => one - other)) {
    // Of one within another the outer one is taken.
    if (start < at) continue;
    left += text.slice(at, start);
    if (/\\[a-zA-Z]+$/.test(left.slice(-40))) left += ' ';
    at = end;
  }
  return { text: left + text.slice(at), warnings: describeUnknown(unknown) };
}

function describeUnknown(names: readonly string[]): Warnings {
  if (names.length === 0) return {};
  const message = `What ${names.length} condition(s) of the LaTeX file choose between is all in the result, because TeX alone can decide them: ${fewOf([...new Set(names)])}. Remove what does not apply, or convert the PDF that LaTeX makes of it.`;
  return { CONDITIONS_NOT_DECIDED: message };
}
