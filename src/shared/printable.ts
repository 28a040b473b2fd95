/** Line breaks and escape codes out of a file's name or a service's answer would rearrange a screen or a page. */
const controlCharacters = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/** The text on one line, with characters that a terminal or a browser would act on spelt out: `\x1b`. */
export function printable(text: string): string {
  return text.replace(controlCharacters, (character) => {
    const code = character.charCodeAt(0);
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16)}`;
  });
}
