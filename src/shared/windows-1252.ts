/** What Windows-1252 has from 0x80 to 0x9f; nothing where a blank stands. */
const letters = '€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ';

/**
 * Text in Windows-1252 that was decoded as Latin-1, which differs in these letters alone. The decoder of Node 20 does not know the
 * difference.
 */
export function latin1ToWindows1252(latin1: string): string {
  return latin1.replace(/[\x80-\x9f]/g, (control) => {
    const letter = letters.charAt(control.charCodeAt(0) - 0x80);
    return letter === ' ' ? control : letter;
  });
}
