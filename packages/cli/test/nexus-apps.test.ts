import { testTemporalAddress } from '../../../test/support/temporal';
import { fileconv, linesOf, newFolder, removeFolders } from './fileconv';

describe('fileconv worker', () => {
  it('ends with 2 when callers are to use an app that it does not have', async () => {
    const cwd = await newFolder();
    const env = { TEMPORAL_ADDRESS: testTemporalAddress(), FILECONV_WORKER_NEXUS_APPS: 'embedded, payroll' };
    const ended = await fileconv(['worker'], { cwd, env });
    expect(ended.code).toBe(2);
    expect(linesOf(ended.stderr).at(-1)).toBe(
      'error: worker.nexus_apps names payroll, which this worker does not have; it has: embedded.',
    );
    await removeFolders();
  });
});
