import { wellFormed } from '../messages/wording';
import { SecretSpellings } from '../messages/secret-spellings';

/** Makes service text safe for a message: one line, cut to length, without the token or a callback URL's signature. */
export type Quote = (text: string) => string;

/** A value where a service should have written text. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  try {
    return JSON.stringify(value);
  } catch {
    return 'a value that is nested too deeply';
  }
}

const maxQuotedLength = 500;
/** Limit for the part of the text that is read; the text may be megabytes long. */
const maxReadLength = 2000;
/** The end of one of our callback URLs, nonce and signature, which a service may quote when it rejects the URL. */
const callbackSignature = /\.[0-9a-f-]{36}\.[\w-]{43}/g;
const callbackSignatureLength = 81;

export function createQuote(tokens: { readonly known: readonly string[] }): Quote {
  let known = tokens.known;
  let spellings = new SecretSpellings(known);
  return (text) => {
    if (tokens.known !== known) spellings = new SecretSpellings(tokens.known);
    known = tokens.known;
    // A secret that is cut in two leaves a part within the last characters, so these are dropped.
    const margin = Math.max(spellings.longest, callbackSignatureLength);
    const read = text.slice(0, maxReadLength + margin);
    const safe = spellings.hide(read, '[token]').replace(callbackSignature, '.[signature]');
    const whole = read.length < text.length ? safe.slice(0, -margin) : safe;
    // Control characters could forge log lines.
    const line = whole.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim();
    return wellFormed(line.length > maxQuotedLength ? `${line.slice(0, maxQuotedLength)}…` : line);
  };
}
