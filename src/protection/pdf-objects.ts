/** Objects of a PDF (ISO 32000-2, 7.3), as far as its structure needs them. Names keep their slash; strings are buffers. */
export type PdfValue = number | string | boolean | null | Buffer | PdfReference | readonly PdfValue[] | PdfDictionary;
export type PdfDictionary = ReadonlyMap<string, PdfValue>;
export interface PdfReference {
  readonly reference: number;
}

export const isReference = (value: PdfValue | undefined): value is PdfReference =>
  typeof value === 'object' && value !== null && 'reference' in value;
export const isDictionary = (value: PdfValue | undefined): value is PdfDictionary => value instanceof Map;

/** Groups: a mark, a hexadecimal string, a name, a reference, any other word. */
const token =
  /(?:[\0\s]|%[^\r\n]*[\r\n])*(?:(<<|>>|[[\](])|<([\da-f\0\s]*)>|(\/[^\0\s()<>[\]{}/%]*)|(\d+)[\0\s]+\d+[\0\s]+R(?![^\0\s()<>[\]{}/%])|([^\0\s()<>[\]{}/%]+))/iy;
const textPart = /\\[^]|[^]/y;
const controls: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' };
const words: Readonly<Record<string, PdfValue>> = { true: true, false: false, null: null };
const maxDepth = 32;

/** Reads the object at `at` of a text in Latin-1. @throws if there is none, or if it is cut off */
export function readPdfObject(source: string, at = 0): { value: PdfValue; end: number } {
  let end = at;
  function take(pattern: RegExp): RegExpExecArray {
    pattern.lastIndex = end;
    const found = pattern.exec(source);
    if (!found) throw new RangeError('An object is cut.');
    end = pattern.lastIndex;
    return found;
  }
  /** `undefined` at the mark that ends a list. */
  function object(depth: number): PdfValue | undefined {
    if (depth > maxDepth) throw new RangeError('Its objects are too deep.');
    const [, mark, digits, name, reference, word = ''] = take(token);
    if (mark === '(') return literal();
    if (mark === '[') return [...list(depth)];
    if (mark === '<<') {
      const [entries, parts] = [new Map<string, PdfValue>(), list(depth)];
      for (const key of parts) entries.set(typeof key === 'string' ? key : '', parts.next().value ?? null);
      return entries;
    }
    if (mark !== undefined) return undefined;
    if (digits !== undefined) return Buffer.from(digits.replace(/[\0\s]/g, '').replace(/^(..)*.$/, '$&0'), 'hex');
    if (reference !== undefined) return { reference: Number(reference) };
    return name ?? (Object.hasOwn(words, word) ? (words[word] ?? null) : Number(word));
  }
  function* list(depth: number): Generator<PdfValue, undefined> {
    for (let value = object(depth + 1); value !== undefined; value = object(depth + 1)) yield value;
  }
  function literal(): Buffer {
    const parts: string[] = [];
    for (let open = 1; open > 0;) {
      const [part] = take(textPart);
      if (part === '(') open += 1;
      if (part === ')') open -= 1;
      parts.push(part);
    }
    const unescape = (_: string, octal?: string, char = '') =>
      octal === undefined ? (controls[char] ?? char) : String.fromCharCode(Number.parseInt(octal, 8) & 255);
    parts.pop();
    return Buffer.from(parts.join('').replace(/\\(?:([0-7]{1,3})|\r\n?|\n|([^]))/g, unescape), 'latin1');
  }
  return { value: object(0) ?? null, end };
}
