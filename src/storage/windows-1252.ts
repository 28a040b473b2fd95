/** Windows-1252 from 0x80 to 0x9f; a blank marks an undefined character. */
const letters = '€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ';

/** Corrects Windows-1252 text that was decoded as Latin-1, which differs only here; Node 20's decoder confuses the two. */
export function latin1ToWindows1252(latin1: string): string {
  return latin1.replace(/[\x80-\x9f]/g, (control) => {
    const letter = letters.charAt(control.charCodeAt(0) - 0x80);
    return letter === ' ' ? control : letter;
  });
}
