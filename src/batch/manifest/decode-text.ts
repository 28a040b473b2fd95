const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The text that UTF-8 bytes stand for; undefined when they are none, rather than a text that is not what was meant. */
export function decodeText(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}
