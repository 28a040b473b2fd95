const mask = '********';
/** What is shorter would mask half of what is written, and is no secret. */
const shortestSecret = 6;

/** Where a secret may stand, whatever its value is: each keeps what comes before it. */
const usualPlaces: readonly RegExp[] = [
  // Of an Authorization header.
  /(\bbearer\s+)[^\s"'\\,;<>]+/gi,
  // The end of a signed callback URL, or a token of a like shape: the signature has 43 characters.
  /(^|[^\w.-])[\w-]{2,}\.[\w-]{1,128}\.[\w-]{43}(?![\w-])/g,
  // A signed download link.
  /(https?:\/\/[^\s"'\\?#]*\?)[^\s"'\\]+/gi,
  /(https?:\/\/)[^\s"'\\/@]+(?=@)/gi,
];

/** Keeps secrets out of lines of JSON: those that it was told of, and what looks like one. */
export class SecretMask {
  readonly #forms = new Set<string>();
  #known: RegExp | undefined;

  /** From now on this text is masked wherever it stands in a line: as it is, escaped for JSON or a URL, in base64 and in hexadecimal. */
  hide(secret: string): void {
    if (secret.length < shortestSecret) return;
    const bytes = Buffer.from(secret);
    const forms = [secret, encodeURIComponent(secret), bytes.toString('base64'), bytes.toString('base64url')];
    for (const form of [...forms, bytes.toString('hex')]) this.#forms.add(JSON.stringify(form).slice(1, -1));
    // The longest first, so that of two secrets the one that holds the other is masked whole.
    const longestFirst = [...this.#forms].sort((one, other) => other.length - one.length);
    this.#known = new RegExp(longestFirst.map((form) => form.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')).join('|'), 'g');
  }

  /** Hides each word of a text of secrets, and of `id:key` the key alone as well. */
  hideWords(text: string): void {
    for (const word of text.split(/\s+/)) {
      this.hide(word);
      this.hide(word.slice(word.indexOf(':') + 1));
    }
  }

  /** The line without its secrets. */
  apply(line: string): string {
    const known = this.#known === undefined ? line : line.replace(this.#known, mask);
    return usualPlaces.reduce((masked, place) => masked.replace(place, `$1${mask}`), known);
  }
}

/** Fields that hold a secret by their name, at the top of a line or one level below. */
export const secretFields: readonly string[] = [
  'token',
  'appToken',
  'authorization',
  'Authorization',
  'headers',
  'cookie',
  'key',
  'secret',
  'password',
  'apiKey',
  'callback',
  'callbackUrl',
  'nonce',
  'url',
].flatMap((name) => [name, `*.${name}`]);
