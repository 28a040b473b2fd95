import path from 'node:path';
import { peek } from '../lines';
import { readCsvManifest } from './csv-manifest';
import { DamagedTextError, inUtf8 } from './decode-text';
import { readJsonlManifest } from './jsonl-manifest';
import type { ManifestReading, ManifestRow } from './manifest-row';

/** How files start that users mistake for a manifest. */
const otherKinds: readonly { bytes: Buffer; advice: string }[] = [
  { bytes: Buffer.from('PK\u0003\u0004'), advice: 'is a spreadsheet. Save it as CSV in UTF-8.' },
  { bytes: Buffer.from('['), advice: 'is one JSON array. Write one object a line instead.' },
];

/**
 * The rows of a user's manifest: CSV or JSON Lines by its extension, or else by its first character. Holds one row in
 * memory at a time. Every error becomes a finding; a manifest with findings must not be run.
 */
export async function* readManifest(
  chunks: AsyncIterable<Buffer>,
  reading: ManifestReading,
): AsyncGenerator<ManifestRow> {
  const { name, findings } = reading;
  try {
    yield* readText(inUtf8(chunks), reading);
  } catch (error) {
    if (!(error instanceof DamagedTextError)) throw error;
    findings.add('MANIFEST_INVALID', `${name} is damaged UTF-16. Save it in UTF-8.`);
  }
}

async function* readText(text: AsyncIterable<Buffer>, reading: ManifestReading): AsyncGenerator<ManifestRow> {
  const { name, findings } = reading;
  const before = findings.count;
  const { head, all, close } = await peek(text, (seen) => seen.length >= 4);
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
