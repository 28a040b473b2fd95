import { latin1ToWindows1252 } from '../../shared/windows-1252';

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The text that UTF-8 bytes stand for; undefined when they are none, rather than a text that is not what was meant. */
export function decodeText(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

/** The text that the bytes stand for in Windows-1252; undefined when they have a byte that stands for nothing there. */
export function decodeWindows1252(bytes: Buffer): string | undefined {
  const text = latin1ToWindows1252(bytes.toString('latin1'));
  return /[\x80-\x9f]/.test(text) ? undefined : text;
}
