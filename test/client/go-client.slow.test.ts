import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { searchAttributes } from '../../src/job/search-attributes';
import { rigOfAllTests } from '../support/conversion-worker';
import { testTemporalAddress } from '../support/temporal';

/** examples/go-client, which knows only the names of a workflow and of an app. */

const run = promisify(execFile);
const example = path.resolve(__dirname, '../../examples/go-client');
const hasGo = spawnSync('go', ['version']).status === 0;
if (!hasGo) console.warn('Skipped: there is no go on this machine.');

(hasGo ? describe : describe.skip)('a Go program', () => {
  const rig = rigOfAllTests({ app: 'letters' });
  let program: string;

  beforeAll(async () => {
    program = path.join(rig.folder, 'go-client');
    await run('go', ['build', '-o', program, '.'], { cwd: example });
  }, 600_000);

  async function convert(name: string) {
    const uris = [await rig.source(name), path.join(rig.folder, `${name}.pdf`)].map((file) => pathToFileURL(file).href);
    const { stdout, stderr } = await run(program, ['letters', ...uris], {
      env: { ...process.env, TEMPORAL_ADDRESS: testTemporalAddress(), FILECONV_WORKER_TASK_QUEUE: rig.taskQueue },
    }).catch((error: unknown) => error as { stdout: string; stderr: string });
    // The SDK logs that it uses the default logger.
    return { stdout, said: stderr.split('\n').filter((line) => line !== '' && !line.includes(' INFO ')) };
  }

  it('starts a job by the name of the workflow, and gets the SHA-256 of the file', async () => {
    const sha256 = createHash('sha256').update(rig.stub.output).digest('hex');
    expect(await convert('go.docx')).toEqual({ stdout: `${sha256}\n`, said: [] });
    const job = await rig.temporal.workflow.getHandle('go-client/go.docx').describe();
    expect(job.typedSearchAttributes.get(searchAttributes.app)).toBe('letters');
    expect(job.typedSearchAttributes.get(searchAttributes.status)).toBe('completed');
  });

  it('reads the error code, the advice and the charge of a job', async () => {
    rig.stub.fail('convert/file', 400, 'INVALID_FORMAT');
    const { stdout, said } = await convert('refused.docx');
    expect(stdout).toBe('');
    expect(said).toEqual([
      expect.stringMatching(/^INVALID_FORMAT: refused\.docx → pdf: .*choose another format/),
      'phase submitting, charged: no',
    ]);
  });
});
