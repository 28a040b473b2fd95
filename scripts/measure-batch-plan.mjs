/**
 * Time and memory of planning a batch from a manifest whose files are made up: `node scripts/measure-batch-plan.mjs [ROWS]` after
 * `npm run build`. The last line is JSON.
 */
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { pathToFileURL } from 'node:url';

const require = createRequire(import.meta.url);
const { planBatch } = require('../dist/batch/plan/plan-batch.js');
const { createLocalFiles } = require('../dist/storage/local-files.js');
const rows = Number(process.argv[2] ?? 200_000);

function* manifest() {
  yield 'source,output,destination\n';
  for (let row = 1; row <= rows; row += 1) {
    const name = `department-${row % 500}/an invoice with a longer name ${row}`;
    yield `in/${name}.docx,pdf,${name}.pdf\n`;
  }
}

const cwd = await mkdtemp(path.join(os.tmpdir(), 'fileconv-measure-'));
try {
  const file = path.join(cwd, 'manifest.csv');
  await pipeline(Readable.from(manifest()), createWriteStream(file));
  const bytesBefore = process.memoryUsage().rss;
  const startedAt = performance.now();
  const base = pathToFileURL(`${cwd}/`).href;
  const what = { manifest: pathToFileURL(file).href, name: 'manifest.csv', folder: base };
  const folders = { batchFolder: `${base}batch/`, cwd: base, out: `${base}out/` };
  const local = createLocalFiles();
  const source = { kind: 'file', stamp: 'stamp', bytes: 1, modifiedAt: 0 };
  const look = (uri) => (uri.endsWith('.docx') ? Promise.resolve({ ...source, identity: uri }) : local.look(uri));
  const planned = await planBatch({ files: { ...local, look }, what, ...folders });
  const mebibytes = (bytes) => Math.round(bytes / 1024 / 1024);
  console.log(
    JSON.stringify({
      rows: planned.rows,
      problems: planned.problems.count,
      seconds: Number(((performance.now() - startedAt) / 1000).toFixed(1)),
      rssBeforeMebibytes: mebibytes(bytesBefore),
      peakRssMebibytes: mebibytes(process.resourceUsage().maxRSS * 1024),
    }),
  );
} finally {
  await rm(cwd, { recursive: true, force: true });
}
