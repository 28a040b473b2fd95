import { readLines } from '../lines';
import { decodeText } from './decode-text';
import { checkRow, manifestColumns, suggestColumn } from './manifest-row';
import type { ManifestColumn, ManifestReading, ManifestRow, RawRow } from './manifest-row';

const maxLineBytes = 64 * 1024;

/** The valid rows of a manifest with one JSON object per line; each error becomes a finding. */
export async function* readJsonlManifest(
  chunks: AsyncIterable<Buffer>,
  reading: ManifestReading,
): AsyncGenerator<ManifestRow> {
  const { name, findings } = reading;
  let lines = 0;
  for await (const { number: line, bytes, tooLong } of readLines(chunks, { maxLineBytes })) {
    const invalid = (what: string) => findings.add('ROW_INVALID', `${name} line ${line}${what}`);
    if (tooLong) {
      lines += 1;
      invalid(` is longer than ${maxLineBytes} bytes. Write one row a line.`);
      continue;
    }
    const text = decodeText(bytes);
    if (text?.trim() === '') continue;
    lines += 1;
    if (text === undefined) {
      invalid(': the bytes are not UTF-8. Save the file in UTF-8.');
      continue;
    }
    const raw = rawRowOf(text, invalid);
    const row = raw && checkRow(raw, { line, term: 'key', reading });
    if (row) yield row;
  }
  if (lines === 0)
    findings.add('MANIFEST_INVALID', `${name} is empty. Each line is a row: {"source":"a.md","output":"pdf"}`);
}

function rawRowOf(text: string, invalid: (what: string) => void): RawRow | undefined {
  let row: unknown;
  try {
    row = JSON.parse(text);
  } catch (error) {
    invalid(` is not JSON: ${error instanceof Error ? error.message : String(error)}. Write one object a line.`);
    return undefined;
  }
  if (typeof row !== 'object' || row === null || Array.isArray(row)) {
    invalid(' is not an object. Write one object a line, for example {"source":"a.md","output":"pdf"}');
    return undefined;
  }
  const raw: RawRow = {};
  let usable = true;
  for (const [key, value] of Object.entries(row)) {
    if (!isColumn(key)) {
      invalid(`: there is no key ${JSON.stringify(key)}. ${suggestColumn(key)}`);
      usable = false;
    } else if (typeof value === 'string') raw[key] = value;
    else if (value !== null) {
      invalid(`, key ${key}: it is not a text. Put it in quotes.`);
      usable = false;
    }
  }
  return usable ? raw : undefined;
}

function isColumn(key: string): key is ManifestColumn {
  return manifestColumns.some((column) => column === key);
}
