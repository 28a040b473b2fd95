/** Makes text from the service fit for a message: one line, not too long, without the token and without the signature of a callback URL. */
export type Quote = (text: string) => string;

const maxQuotedLength = 500;
/** The end of a callback URL of ours, which a service may quote when it does not like it: nonce and signature. */
const callbackSignature = /\.[0-9a-f-]{36}\.[\w-]{43}/g;

export function createQuote(readToken: () => string): Quote {
  return (text) => {
    const token = readToken();
    // A very short token would blank out half the text; no service hands out one.
    const withoutToken = token.length >= 6 ? text.replaceAll(token, '[token]') : text;
    const safe = withoutToken.replace(callbackSignature, '.[signature]');
    // Control characters could forge log lines.
    const line = safe.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim();
    return line.length > maxQuotedLength ? `${line.slice(0, maxQuotedLength)}…` : line;
  };
}
