/** Anything shorter would mask half of a text, and is no secret. */
const shortestSecret = 6;
/** The longest spelling of one character: `&amp;#x0002b;`, `\\u002b`, `%252b`. */
const longestSpelling = 14;
/** Escapes may be nested. */
const maxLayers = 6;

const named: Readonly<Record<string, string>> = {
  ...{ amp: '&', apos: "'", ast: '*', bsol: '\\', colon: ':', comma: ',', commat: '@', dollar: '$', equals: '=' },
  ...{ excl: '!', grave: '`', gt: '>', hat: '^', lbrack: '[', lcub: '{', lowbar: '_', lpar: '(', lsqb: '[', lt: '<' },
  ...{ num: '#', percnt: '%', period: '.', plus: '+', quest: '?', quot: '"', rbrack: ']', rcub: '}', rpar: ')' },
  ...{ rsqb: ']', semi: ';', sol: '/', verbar: '|', vert: '|' },
};
const control: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

const escapes =
  /%([\da-f]{2})|\\x([\da-f]{2})|\\u([\da-f]{4})|&#x0{0,6}([\da-f]{1,6});?|&#0{0,6}(\d{1,7});?|&([a-z]{2,6});|\\([bfnrt])|\\([^a-z\d])/gi;

/** The bytes of a text as characters, each with the range of the text that it comes from. */
interface Reading {
  bytes: string;
  from: readonly number[];
  to: readonly number[];
}

/**
 * Finds secrets in text in any spelling: in either case, percent-encoded, escaped for JSON or HTML, in nested escapes,
 * in hexadecimal, or anywhere inside a base64 text such as that of `Bearer TOKEN`.
 */
export class SecretSpellings {
  /** Upper bound for the length of a spelling. */
  readonly longest: number;
  readonly #forms: readonly string[];

  constructor(secrets: Iterable<string>) {
    const known = [...secrets].filter(({ length }) => length >= shortestSecret);
    this.longest = Math.max(0, ...known.map((secret) => Buffer.byteLength(secret) * longestSpelling));
    this.#forms = [...new Set(known.flatMap(formsOf))];
  }

  /** The text with every secret masked. */
  hide(text: string, mask: string): string {
    if (this.#forms.length === 0) return text;
    const found: [from: number, to: number][] = [];
    for (const { bytes, from, to } of layersOf(text)) {
      const comparable = toComparable(bytes);
      for (const form of this.#forms) {
        for (let at = comparable.indexOf(form); at !== -1; at = comparable.indexOf(form, at + 1)) {
          found.push([from[at] ?? 0, to[at + form.length - 1] ?? text.length]);
        }
      }
    }
    return replaceAll(text, found, mask);
  }
}

function replaceAll(text: string, ranges: [from: number, to: number][], mask: string): string {
  let safe = '';
  let copied = 0;
  for (const [from, to] of ranges.sort(([one], [other]) => one - other)) {
    // Nested or overlapping ranges share one mask.
    if (from >= copied) safe += text.slice(copied, from) + mask;
    copied = Math.max(copied, to);
  }
  return safe + text.slice(copied);
}

function formsOf(secret: string): string[] {
  const readings = layersOf(secret).map(({ bytes }) => bytes);
  const bytes = Buffer.from(secret);
  return [...readings, bytes.toString('hex'), ...base64Forms(bytes)].map(toComparable);
}

/** For each of the three alignments, the base64 characters that depend on the secret alone. */
function base64Forms(secret: Buffer): string[] {
  return [0, 1, 2].map((offset) => {
    const bytes = Buffer.concat([Buffer.alloc(offset), secret]);
    return bytes.toString('base64').slice(Math.ceil((offset * 8) / 6), Math.floor((bytes.length * 8) / 6));
  });
}

/** Maps both base64 alphabets to one. */
function toComparable(bytes: string): string {
  return bytes.toLowerCase().replaceAll('-', '+').replaceAll('_', '/');
}

/** The text, followed by the results of undoing its escapes repeatedly. */
function layersOf(text: string): Reading[] {
  const layers = [readBytes(text)];
  for (let layer = layers[0]; layer && layers.length <= maxLayers; layers.push(layer)) {
    const next = undoEscapes(layer);
    if (next.bytes === layer.bytes) break;
    layer = next;
  }
  return layers;
}

function readBytes(text: string): Reading {
  const reading = { bytes: '', from: [] as number[], to: [] as number[] };
  let at = 0;
  for (const character of text) {
    append(reading, bytesOf(character), [at, at + character.length]);
    at += character.length;
  }
  return reading;
}

function undoEscapes({ bytes, from, to }: Reading): Reading {
  const undone = { bytes: '', from: [] as number[], to: [] as number[] };
  let copied = 0;
  const copyTo = (end: number) => {
    undone.bytes += bytes.slice(copied, end);
    for (; copied < end; copied += 1) {
      undone.from.push(from[copied] ?? 0);
      undone.to.push(to[copied] ?? 0);
    }
  };
  for (const match of bytes.matchAll(escapes)) {
    const meant = meaningOf(match);
    if (meant === undefined) continue;
    copyTo(match.index);
    copied += match[0].length;
    append(undone, meant, [from[match.index] ?? 0, to[copied - 1] ?? 0]);
  }
  copyTo(bytes.length);
  return undone;
}

function append(reading: { bytes: string; from: number[]; to: number[] }, bytes: string, [from, to]: [number, number]) {
  reading.bytes += bytes;
  while (reading.from.length < reading.bytes.length) {
    reading.from.push(from);
    reading.to.push(to);
  }
}

/** The bytes that an escape stands for; undefined when it is none. */
function meaningOf([, percent, byte, unit, hexadecimal, decimal, name, letter, itself]: RegExpExecArray) {
  const code = percent ?? byte;
  if (code !== undefined) return String.fromCharCode(parseInt(code, 16));
  const point = unit ?? hexadecimal;
  if (point !== undefined) return bytesOfPoint(parseInt(point, 16));
  if (decimal !== undefined) return bytesOfPoint(Number(decimal));
  if (name !== undefined) return named[name.toLowerCase()];
  return letter === undefined ? itself : control[letter.toLowerCase()];
}

function bytesOfPoint(point: number): string | undefined {
  return point <= 0x10ffff ? bytesOf(String.fromCodePoint(point)) : undefined;
}

function bytesOf(character: string): string {
  return character <= '\x7f' ? character : Buffer.from(character).toString('latin1');
}
