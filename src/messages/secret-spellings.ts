/** Masking anything shorter would hide half of a text, and nothing shorter is a secret. */
const minSecretLength = 6;
/** The longest common spelling of one character: `&amp;#x0002b;`, `\\u002b`, `%252b`. */
const maxSpellingLength = 14;

const entities: Readonly<Record<string, string>> = { '&': 'amp', '"': 'quot', "'": 'apos', '<': 'lt', '>': 'gt' };

/**
 * Finds secrets in their usual spellings: in either case, with characters percent-encoded or escaped for JSON or HTML, also repeatedly;
 * in hexadecimal; or anywhere inside base64, as in `Bearer TOKEN`.
 */
export class SecretSpellings {
  /** Upper bound for the length of a spelling. */
  readonly longest: number;
  readonly #pattern: RegExp | undefined;
  /** For text without escape characters, the usual case: the full pattern takes 15 ms to compile. */
  readonly #plain: RegExp | undefined;

  constructor(secrets: Iterable<string>) {
    const known = [...secrets].filter(({ length }) => length >= minSecretLength);
    this.longest = Math.max(0, ...known.map((secret) => Buffer.byteLength(secret) * maxSpellingLength));
    // Longest first, so that a secret that contains another is masked as one.
    known.sort((one, other) => other.length - one.length);
    if (known.length === 0) return;
    const matching = (letters: (letter: string) => string) =>
      new RegExp(known.flatMap((secret) => patternsOf(secret, letters)).join('|'), 'giu');
    this.#plain = matching(literalOf);
    this.#pattern = matching(spellingsOf);
  }

  hide(text: string, mask: string): string {
    const pattern = /[%&\\]/.test(text) ? this.#pattern : this.#plain;
    return pattern ? text.replace(pattern, () => mask) : text;
  }
}

function patternsOf(secret: string, letters: (letter: string) => string): string[] {
  const bytes = Buffer.from(secret);
  // For each of the three alignments, the base64 characters that depend only on the secret.
  const base64 = [0, 1, 2].map((offset) => {
    const shifted = Buffer.concat([Buffer.alloc(offset), bytes]);
    const certain = shifted.toString('base64').slice(Math.ceil((offset * 8) / 6), Math.floor((shifted.length * 8) / 6));
    return certain.replaceAll('+', '[+\\-]').replaceAll('/', '[/_]');
  });
  return [Array.from(secret, letters).join(''), bytes.toString('hex'), ...base64];
}

function literalOf(character: string): string {
  return character.replace(/[\\^$.*+?()[\]{}|/]/, '\\$&');
}

/** Repetitions of escaped escapes are bounded: a text of nothing else must not take long. */
function spellingsOf(character: string): string {
  const point = character.codePointAt(0) ?? 0;
  const literal = literalOf(character);
  const percent = [...Buffer.from(character)].map((byte) => `%(?:25){0,4}${hex(byte, 2)}`).join('');
  const units = character.split('').map((unit) => `\\\\{1,8}u${hex(unit.charCodeAt(0), 4)}`);
  const entity = Object.hasOwn(entities, character) ? `|${entities[character]};` : '';
  const html = `&(?:amp;){0,4}(?:#x0{0,6}${hex(point, 1)};?|#0{0,6}${point};?${entity})`;
  const isWord = /[\p{L}\p{N}]/u.test(character);
  return `(?:${isWord ? '' : '\\\\{0,8}'}${literal}|${percent}|${units.join('')}|${html})`;
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0');
}
