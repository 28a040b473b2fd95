import { createWriteStream } from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { planBatch } from '../src/batch/plan/plan-batch';
import type { FileStore } from '../src/storage/file-store';
import { createLocalFiles } from '../src/storage/local-files';
import { round } from './support/figures';
import { measure, type Setting } from './support/measurement';

/** Time and memory of planning a batch from a manifest, whose files are made up. */
const { values: options } = parseArgs({ options: { rows: { type: 'string', default: '200000' } } });
const rows = Number(options.rows);

function* manifest(): Generator<string> {
  yield 'source,output,destination\n';
  for (let row = 1; row <= rows; row += 1) {
    const name = `department-${row % 500}/an invoice with a longer name ${row}`;
    yield `in/${name}.docx,pdf,${name}.pdf\n`;
  }
}

async function main({ folder }: Setting) {
  const file = path.join(folder, 'manifest.csv');
  await pipeline(Readable.from(manifest()), createWriteStream(file));
  const local = createLocalFiles();
  const look: FileStore['look'] = (uri) => {
    if (!uri.endsWith('.docx')) return local.look(uri);
    return Promise.resolve({ kind: 'file', stamp: 'stamp', bytes: 1, modifiedAt: 0, identity: uri });
  };
  const base = pathToFileURL(`${folder}/`).href;
  const rssBefore = process.memoryUsage().rss;
  const startedAt = performance.now();
  const planned = await planBatch({
    what: { manifest: pathToFileURL(file).href, name: 'manifest.csv', folder: base },
    cwd: base,
    folder: `${base}batch/`,
    out: `${base}out/`,
    files: { ...local, look },
  });
  return {
    rows: planned.rows,
    problems: planned.problems.count,
    seconds: round((performance.now() - startedAt) / 1_000, 1),
    rssBeforeMiB: Math.round(rssBefore / 1024 / 1024),
    peakRssMiB: Math.round(process.resourceUsage().maxRSS / 1024),
  };
}

void measure(main);
