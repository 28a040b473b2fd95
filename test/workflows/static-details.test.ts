import { jobDetails } from '../../src/job/temporal-ui';
import { batchDetails } from '../../src/batch/model/details';

/** The unchanging details of a job or batch in the Temporal UI. */

it('show source, destination and app of a job', () => {
  const job = { app: 'billing', source: { uri: 'file:///in/a.docx' }, output: 'pdf', destination: 'file:///out/a.pdf' };
  expect(jobDetails(job)).toBe(
    '- **From**: `file:///in/a.docx`\n- **To**: `pdf` at `file:///out/a.pdf`\n- **App**: `billing`',
  );
});

it('show the non-default options of a job', () =>
  expect(
    jobDetails({
      app: 'x',
      source: { connector: '91f6240d', name: 'a' },
      output: 'pdf',
      input: 'txt-markdown',
      parameters: { dpi: 300, pages: '1-3' },
      mode: 'sync',
    }),
  ).toBe(
    [
      '- **From**: the upload or task `91f6240d`, read as `txt-markdown`',
      '- **To**: `pdf` with `dpi=300 pages=1-3`, left at the service',
      '- **App**: `x`',
      '- **Mode**: the answer to the submit is the result',
    ].join('\n'),
  ));

it('show a name with backticks verbatim', () => {
  const job = { app: 'x', source: { uri: 'file:///in/a`b``c.md' }, output: 'pdf' };
  expect(jobDetails(job)).toContain('- **From**: ``` file:///in/a`b``c.md ```\n');
});

it('show what a batch converts, its folder, its app, and when it stops', () => {
  const what = { sources: ['letters', 'scans'], to: ['pdf', 'html'] };
  const batch = { app: 'billing', plan: { folder: 'file:///batches/november/', cwd: 'file:///srv/', what } };
  expect(batchDetails(batch)).toBe(
    '- **Converts**: letters, scans → pdf, html\n- **Ledger, runs and reports**: `file:///batches/november/`\n- **App**: `billing`',
  );
  expect(batchDetails({ app: 'billing', items: [] })).toContain('- **Converts**: 0 items');
  expect(batchDetails({ ...batch, stopAfter: { failures: 10, percent: 5 } })).toContain(
    '- **Stops after**: 10 failures or 5 % failed',
  );
});
