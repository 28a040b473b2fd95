import path from 'node:path';
import { peek } from '../../storage/peek';
import { decodeText, readLines, withoutMark } from '../lines';
import { readCsvManifest } from './csv-manifest';
import {
  type ManifestReading,
  type ManifestRow,
  type BadRow,
  checkRow,
  manifestColumns,
  suggestColumn,
  type ManifestColumn,
  type RawRow,
} from './manifest-row';

/** First bytes of files that users mistake for a manifest. */
const otherKinds: readonly { bytes: Buffer; advice: string }[] = [
  { bytes: Buffer.from('PK\u0003\u0004'), advice: 'is a spreadsheet. Save it as CSV in UTF-8.' },
  { bytes: Buffer.from('['), advice: 'is one JSON array. Write one object a line instead.' },
  { bytes: Buffer.from([0xff, 0xfe]), advice: 'is UTF-16. Save it in UTF-8.' },
  { bytes: Buffer.from([0xfe, 0xff]), advice: 'is UTF-16. Save it in UTF-8.' },
];

/**
 * The rows of a user's manifest: CSV or JSON Lines by its extension, or else by its first character. Holds one row in
 * memory at a time. An error that affects more than one row becomes a finding; a manifest with findings must not be run.
 */
export async function* readManifest(
  chunks: AsyncIterable<Buffer>,
  reading: ManifestReading,
): AsyncGenerator<ManifestRow | BadRow> {
  const { name, findings } = reading;
  const before = findings.count;
  const { head, all, close } = await peek(withoutMark(chunks), (seen) => seen.length >= 4);
  const other = otherKinds.find(({ bytes }) => head.subarray(0, bytes.length).equals(bytes));
  if (other) {
    findings.add('MANIFEST_INVALID', `${name} ${other.advice}`);
    await close();
    return;
  }
  let rows = 0;
  for await (const row of isJsonl(name, head) ? readJsonlManifest(all, reading) : readCsvManifest(all, reading)) {
    rows += 1;
    yield row;
  }
  if (rows === 0 && findings.count === before) {
    findings.add('MANIFEST_INVALID', `${name} has no rows below its header. Add one line for each file.`);
  }
}

function isJsonl(name: string, head: Buffer): boolean {
  const extension = path.extname(name).toLowerCase();
  if (extension === '.csv') return false;
  return ['.jsonl', '.ndjson', '.json'].includes(extension) || /^\s*\{/.test(head.toString());
}

const maxLineBytes = 64 * 1024;

async function* readJsonlManifest(
  chunks: AsyncIterable<Buffer>,
  reading: ManifestReading,
): AsyncGenerator<ManifestRow | BadRow> {
  const { name, findings } = reading;
  let lines = 0;
  for await (const { number: line, bytes, tooLong } of readLines(chunks, { maxLineBytes })) {
    const text = tooLong ? undefined : decodeText(bytes);
    if (text?.trim() === '') continue;
    lines += 1;
    const raw =
      text !== undefined
        ? rawRowOf(text)
        : [tooLong ? ` is longer than ${maxLineBytes} bytes. Write one row a line.` : notUtf8];
    yield Array.isArray(raw)
      ? { line, problem: raw.map((what) => `${name} line ${line}${what}`).join(' ') }
      : checkRow(raw, { line, term: 'key', reading });
  }
  if (lines === 0)
    findings.add('MANIFEST_INVALID', `${name} is empty. Each line is a row: {"source":"a.md","output":"pdf"}`);
}

const notUtf8 = ': the bytes are not UTF-8. Save the file in UTF-8.';

/** The values of a line, or its problems, each to be put behind the line number. */
function rawRowOf(text: string): RawRow | string[] {
  let row: unknown;
  try {
    row = JSON.parse(text);
  } catch (error) {
    return [` is not JSON: ${error instanceof Error ? error.message : String(error)}. Write one object a line.`];
  }
  if (typeof row !== 'object' || row === null || Array.isArray(row)) {
    return [' is not an object. Write one object a line, for example {"source":"a.md","output":"pdf"}'];
  }
  const raw: RawRow = {};
  const problems: string[] = [];
  for (const [key, value] of Object.entries(row)) {
    if (!isColumn(key)) problems.push(`: there is no key ${JSON.stringify(key)}. ${suggestColumn(key, 'key')}`);
    else if (typeof value === 'string') raw[key] = value;
    else if (value !== null) problems.push(`, key ${key}: it is not a text. Put it in quotes.`);
  }
  return problems.length > 0 ? problems : raw;
}

function isColumn(key: string): key is ManifestColumn {
  return manifestColumns.some((column) => column === key);
}
