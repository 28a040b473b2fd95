// Writes the report of a run's folder and prints its counts. `report.slow.test.ts` runs it with a small heap. Needs `dist`.
import { pathToFileURL } from 'node:url';
import { writeBatchReport } from '../../dist/batch/report/write-report.js';
import { createLocalFiles } from '../../dist/storage/local-files.js';

const [folder] = process.argv.slice(2);
const report = await writeBatchReport(createLocalFiles(), {
  batch: 'november',
  folder: `${pathToFileURL(folder).href}/`,
  state: { status: 'completed', startedAt: 0, durationMs: 0 },
});
const listed = report.failures.reduce((sum, { items }) => sum + items.length, 0);
console.log(JSON.stringify({ items: report.counts.items, failed: report.counts.failed, listed }));
