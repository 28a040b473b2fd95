/** Makes text from the service fit for a message: one line, not too long, and without the token. */
export type Quote = (text: string) => string;

const maxQuotedLength = 500;

export function createQuote(readToken: () => string): Quote {
  return (text) => {
    const token = readToken();
    // A very short token would blank out half the text; no service hands out one.
    const safe = token.length >= 6 ? text.replaceAll(token, '[token]') : text;
    // eslint-disable-next-line no-control-regex -- control characters could forge log lines
    const line = safe.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ').trim();
    return line.length > maxQuotedLength ? `${line.slice(0, maxQuotedLength)}…` : line;
  };
}
