import { SecretSpellings } from 'temporal-file-conversion/messages';

export const mask = '********';

/** Patterns of places that hold secrets. Each keeps what comes before the secret. */
const usualPlaces: readonly RegExp[] = [
  /(\bbearer\s+)[^\s"'\\,;<>]+/gi,
  // The end of a signed callback URL, or a similar token; the signature has 43 characters.
  /(^|[^\w.-])[\w-]{2,}\.[\w-]{1,128}\.[\w-]{43}(?![\w-])/g,
  /(https?:\/\/[^\s"'\\?#]*\?)[^\s"'\\]+/gi,
  /(https?:\/\/)[^\s"'\\/@]+(?=@)/gi,
];

/** Masks secrets in lines of JSON: known secrets, and text that looks like one. */
export class SecretMask {
  readonly #secrets = new Set<string>();
  #spellings = new SecretSpellings([]);

  /** Masks this text from now on, wherever it is in a line and however it is escaped. */
  hide(secret: string): void {
    if (this.#secrets.has(secret)) return;
    this.#secrets.add(secret);
    this.#spellings = new SecretSpellings(this.#secrets);
  }

  /** Hides each word of a text with secrets; of `id:key`, also the key alone. */
  hideWords(text: string): void {
    for (const word of text.split(/\s+/)) {
      this.hide(word);
      this.hide(word.slice(word.indexOf(':') + 1));
    }
  }

  apply(line: string): string {
    const known = this.#spellings.hide(line, mask);
    return usualPlaces.reduce((masked, place) => masked.replace(place, `$1${mask}`), known);
  }
}

/** Names of fields with secrets, at the top level of a line or one level below. */
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
