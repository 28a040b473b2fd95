import { SecretSpellings } from '../shared/secret-spellings';

/** Makes text from the service fit for a message: one line, not too long, without the token and without the signature of a callback URL. */
export type Quote = (text: string) => string;

const maxQuotedLength = 500;
/** Of what is looked at, which may be megabytes. */
const maxReadLength = 2000;
/** The end of a callback URL of ours, which a service may quote when it does not like it: nonce and signature. */
const callbackSignature = /\.[0-9a-f-]{36}\.[\w-]{43}/g;
const callbackSignatureLength = 81;

export function createQuote(readToken: () => string): Quote {
  let spellings: SecretSpellings | undefined;
  let known: string | undefined;
  return (text) => {
    const token = readToken();
    if (spellings === undefined || token !== known) spellings = new SecretSpellings([token]);
    known = token;
    // What the cut leaves of a secret is within the last characters, and goes with them.
    const margin = Math.max(spellings.longest, callbackSignatureLength);
    const read = text.slice(0, maxReadLength + margin);
    const safe = spellings.hide(read, '[token]').replace(callbackSignature, '.[signature]');
    const whole = read.length < text.length ? safe.slice(0, -margin) : safe;
    // Control characters could forge log lines.
    const line = whole.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim();
    return line.length > maxQuotedLength ? `${line.slice(0, maxQuotedLength)}…` : line;
  };
}
