import { isAscii, isUtf8 } from 'node:buffer';
import { readFile, stat } from 'node:fs/promises';
import { latin1ToWindows1252 } from 'temporal-file-conversion/storage';
import { entriesOf } from './archive';
import { ConversionFailure, joinWarnings, type EngineRequest, type Warnings } from './conversion';

/** What engines read: the bytes of a file, its text, or a zip archive. */

const maxInputBytes = 256 * 1024 * 1024;

export async function readInput({ inputPath, inputFormat }: EngineRequest): Promise<Buffer> {
  const { size } = await stat(inputPath);
  if (size > maxInputBytes) {
    throw new ConversionFailure(
      `The ${inputFormat} file is ${Math.ceil(size / 1024 / 1024)} MiB; the engine takes at most ${maxInputBytes / 1024 / 1024} MiB.`,
    );
  }
  return readFile(inputPath);
}

/** The text of an input; its lines end with LF only. */
interface InputText {
  readonly text: string;
  readonly warnings: Warnings;
}

const byteOrderMarks: readonly { bytes: Buffer; encoding: string }[] = [
  { bytes: Buffer.from([0xef, 0xbb, 0xbf]), encoding: 'utf-8' },
  { bytes: Buffer.from([0xff, 0xfe]), encoding: 'utf-16le' },
  { bytes: Buffer.from([0xfe, 0xff]), encoding: 'utf-16be' },
];

/** Formats that declare their encoding near the beginning, in ASCII. */
const xmlDeclaration = /^\s*<\?xml[^>]*\sencoding\s*=\s*["']([\w.:-]+)/i;
const declarations: Readonly<Record<string, RegExp>> = {
  fb2: xmlDeclaration,
  html: /(?:<meta[^<>]+charset|<\?xml[^<>]*\sencoding)\s*=\s*["']?\s*([\w.:-]+)/i,
  opml: xmlDeclaration,
  rtf: /\\ansi(cpg\d+)/,
  xml: xmlDeclaration,
};
const declarationBytes = 65_536;

/** Control characters except tab, line ends, form feed and the escapes of terminals. */
// eslint-disable-next-line no-control-regex
const controls = /[\0-\x08\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f]/g;
const unassigned = /[\p{Cn}\p{Co}]/gu;

/** Text in a known encoding may have one wrong character in this many. */
const lettersForEachError = 20;

/**
 * Reads bytes as text: by their byte order mark, as UTF-8 if valid, as the file declares, as UTF-16, or as Windows-1252 with a warning.
 * @throws ConversionFailure if it is text in none of these.
 */
export function readInputText(input: Buffer, inputFormat: string): InputText {
  if (input.includes(0) && withoutPadding(input).length === 0) {
    throw new ConversionFailure(
      `The ${inputFormat} file holds nothing but NUL bytes, as a crash or a broken download leaves it. Restore it from a copy.`,
    );
  }
  const mark = byteOrderMarks.find(({ bytes }) => input.subarray(0, bytes.length).equals(bytes));
  const read = mark ? decodeLeniently(input, mark.encoding) : decodeUnmarked(input, inputFormat);
  if (!read) {
    throw new ConversionFailure(
      `The ${inputFormat} file is not text in UTF-8, UTF-16 or Windows-1252. Save it in UTF-8; if it is no text, correct its extension.`,
    );
  }
  return { text: read.text.replace(/\r\n?/g, '\n'), warnings: joinWarnings(read.warnings, describePadding(input)) };
}

function decodeUnmarked(input: Buffer, inputFormat: string): InputText | undefined {
  const bytes = withoutPadding(input);
  if (bytes.includes(0)) return decodeUtf16(input);
  const declared = declaredEncoding(bytes, inputFormat);
  // A file that is valid UTF-8 but declares another encoding has been saved again without updating the declaration.
  if (isUtf8(bytes) && !(declared && isAscii(bytes))) return decodeLeniently(bytes, 'utf-8');
  if (declared) return decodeLeniently(bytes, declared);
  return decodeDamagedUtf8(bytes) ?? decodeWindows1252(bytes);
}

/** Some programs end a text with NUL bytes, and DOS with Ctrl-Z. */
function withoutPadding(input: Buffer): Buffer {
  let end = input.length;
  while (end > 0 && (input[end - 1] === 0 || input[end - 1] === 0x1a)) end -= 1;
  return input.subarray(0, end);
}

/** One NUL byte ends a C string or the last letter of UTF-16; more are left by a crash while the file was being written. */
function describePadding(input: Buffer): Warnings {
  const count = input.length - 1 - input.findLastIndex((byte) => byte !== 0);
  if (count < 2) return {};
  const message = `The text ends with ${count} NUL bytes, as a crash or a broken download leaves them in place of what was there. If something is missing, restore the file from a copy.`;
  return { TEXT_DAMAGED: message };
}

function declaredEncoding(bytes: Buffer, inputFormat: string): string | undefined {
  const pattern = declarations[inputFormat.split('-')[0] ?? ''];
  const name = pattern?.exec(bytes.toString('latin1', 0, declarationBytes))?.[1]?.replace(/^cpg/, 'windows-');
  if (name === undefined) return undefined;
  try {
    const { encoding } = new TextDecoder(name);
    // A declaration of UTF-16 that can be read as ASCII is wrong.
    return encoding.startsWith('utf-16') ? undefined : encoding;
  } catch {
    return undefined;
  }
}

function decodeLeniently(bytes: Buffer, encoding: string): InputText | undefined {
  const text =
    encoding === 'windows-1252'
      ? latin1ToWindows1252(bytes.toString('latin1'))
      : new TextDecoder(encoding).decode(bytes);
  if (text.includes('\0')) return undefined;
  const damaged = encoding === 'utf-8' && isUtf8(bytes) ? 0 : count(text, /\ufffd/g);
  // Any two bytes are a UTF-16 code unit, so only unassigned characters reveal a wrong guess.
  const meaningless = encoding.startsWith('utf-16') ? count(text, unassigned) : 0;
  if ((count(text, controls) + damaged + meaningless) * lettersForEachError > text.length) return undefined;
  return { text, warnings: damaged > 0 ? describeDamage(damaged, encoding) : {} };
}

/** UTF-8 with a few wrong bytes; any other encoding would spoil all of its correct letters. */
function decodeDamagedUtf8(bytes: Buffer): InputText | undefined {
  const text = new TextDecoder('utf-8').decode(bytes);
  const damaged = count(text, /\ufffd/g);
  const right = count(text, /[\u0080-\ufffc\u{10000}-\u{10ffff}]/gu);
  if (right <= damaged || count(text, controls) > 0) return undefined;
  return { text, warnings: describeDamage(damaged, 'utf-8') };
}

/** UTF-16 without a byte order mark: of the byte orders that decode to text, the one with more ASCII. */
function decodeUtf16(input: Buffer): InputText | undefined {
  if (isTextWithFewNulBytes(input)) return undefined;
  const [best] = (['utf-16le', 'utf-16be'] as const)
    .map((encoding) => decodeStrictly(input, encoding))
    .filter((text) => text !== undefined)
    .map((text) => ({ text, familiar: count(text, /[\t\n\r -~]/g) }))
    .sort((one, other) => other.familiar - one.familiar);
  return best && best.familiar > 0 ? { text: best.text, warnings: {} } : undefined;
}

/** Whether this is 8-bit text with a few NUL bytes. Latin UTF-16 has one in each letter; other UTF-16 is no text without them. */
function isTextWithFewNulBytes(input: Buffer): boolean {
  const rest = Buffer.from(input.filter((byte) => byte !== 0));
  return rest.length * 4 > input.length * 3 && isUtf8(rest) && count(rest.toString('latin1'), controls) === 0;
}

function decodeStrictly(input: Buffer, encoding: string): string | undefined {
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(input);
    return count(text, controls) + count(text, unassigned) > 0 ? undefined : text;
  } catch {
    return undefined;
  }
}

function decodeWindows1252(bytes: Buffer): InputText | undefined {
  const text = latin1ToWindows1252(bytes.toString('latin1'));
  if (count(text, controls) > 0) return undefined;
  const message =
    'The text is not UTF-8 and was read as Windows-1252. If letters are wrong, save it in UTF-8 and convert it again.';
  return { text, warnings: { ENCODING_GUESSED: message } };
}

function describeDamage(letters: number, encoding: string): Warnings {
  const message = `The text is damaged: in ${letters} place(s) its bytes are not ${encoding.toUpperCase()}, and the result shows \ufffd there.`;
  return { TEXT_DAMAGED: message };
}

export function count(text: string, pattern: RegExp): number {
  let found = 0;
  pattern.lastIndex = 0;
  while (pattern.test(text)) found += 1;
  return found;
}

/** Limit for all parts of a document together, images included. */
const maxUnpackedBytes = 512 * 1024 * 1024;

const archiveStart = Buffer.from('PK');
/** First bytes of the container of old office documents, and of encrypted new ones. */
const compoundFileStart = Buffer.from('d0cf11e0a1b11ae1', 'hex');

/** Refuses a file that is no zip archive or unpacks to too much. If its directory lies, the limits of the process apply. */
export function requireArchive({ inputFormat }: Pick<EngineRequest, 'inputFormat'>, input: Buffer): void {
  const name = inputFormat.toUpperCase();
  if (startsWith(input, compoundFileStart)) {
    throw new ConversionFailure(
      `The ${name} document is encrypted, or has the format of an older program. Remove its password, or save it as ${name} again.`,
    );
  }
  if (!startsWith(input, archiveStart)) {
    throw new ConversionFailure(
      `The file is not a ${name} document: it is no zip archive, so it is damaged or has the wrong extension.`,
    );
  }
  // As the archive's directory says; 0 for an unreadable archive.
  const bytes = entriesOf(input).reduce((sum, { unpackedBytes }) => sum + unpackedBytes, 0);
  if (bytes <= maxUnpackedBytes) return;
  const [size, limit] = [bytes, maxUnpackedBytes].map((count) => Math.ceil(count / 1024 / 1024));
  throw new ConversionFailure(`The ${name} document unpacks to ${size} MiB; the engines take at most ${limit} MiB.`);
}

function startsWith(input: Buffer, start: Buffer): boolean {
  return input.subarray(0, start.length).equals(start);
}
