// Writes the report of a run's folder like an attempt of the batch's last activity. `report.slow.test.ts` kills it meanwhile. Needs `dist`.
import { pathToFileURL } from 'node:url';
import { writeBatchReport } from '../../dist/batch/report/write-report.js';
import { createLocalFiles } from '../../dist/storage/local-files.js';

const [folder] = process.argv.slice(2);
await writeBatchReport(createLocalFiles(), {
  batch: 'november',
  folder: `${pathToFileURL(folder).href}/`,
  state: { status: 'completed', startedAt: 0, durationMs: 0 },
  writing: { jobKey: 'november', attempt: 1 },
});
