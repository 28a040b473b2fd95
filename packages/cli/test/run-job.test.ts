import { pathToFileURL } from 'node:url';
import { ServiceError, type Client } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { ConversionFailedError, type ConversionHandle } from '../../../src/client/conversion-handle';
import type { CommandContext } from '../src/command-context';
import { runJob } from '../src/convert/run-job';
import type { Output } from '../src/output/output';

const jobOf = (file: string) => ({
  input: { file, location: `/home/user/${file}`, extension: 'md' },
  to: 'pdf',
  destination: `/home/user/out/${file.replace(/md$/, 'pdf')}`,
});

/** How the command tells of a job that ends so. */
async function outcomeOf(file: string, result: () => Promise<unknown>) {
  const handle = { workflowId: `convert/${file}`, result } as unknown as ConversionHandle;
  const output = { isLive: false } as Output;
  const { outcome } = await runJob({ output, cwd: '/home/user' } as CommandContext, jobOf(file), {
    start: () => Promise.resolve(handle),
    stack: { client: undefined as unknown as Client, untilClosed: (run) => run() },
    asked: { onExisting: 'fail', policies: {} },
    signal: new AbortController().signal,
  });
  return outcome;
}

describe('a failure is told in terms of what was typed', () => {
  const name = '100% #1.md';
  const failing = async (error: Error) => (await outcomeOf(name, () => Promise.reject(error))).error;
  const failed = (message: string) =>
    new ConversionFailedError({ code: 'SOME_CODE', message, workflowId: 'w', cause: undefined });

  it('with paths in place of URIs, and the file as it was named', async () => {
    const result = pathToFileURL('/home/user/out/100% #1.pdf').href;
    const source = pathToFileURL(`/home/user/${name}`).href;
    expect(await failing(failed(`100% #1.md → pdf: Cannot write ${result}: no space; read ${source}.`))).toEqual({
      code: 'SOME_CODE',
      message: `${name} → pdf: Cannot write out/100% #1.pdf: no space; read ${name}.`,
    });
  });

  it('with the job that continues when the connection to Temporal is lost', async () => {
    const cause = new Error('connect ECONNREFUSED 127.0.0.1:7233');
    expect(await failing(new ServiceError('Failed to get Workflow execution history', { cause }))).toEqual({
      code: 'TEMPORAL_UNREACHABLE',
      message: `${name} → pdf: the connection to Temporal was lost (connect ECONNREFUSED 127.0.0.1:7233). The job convert/${name} continues when Temporal is back.`,
    });
  });

  it('with a hint when Temporal does not know the job', async () => {
    expect(await failing(new WorkflowNotFoundError('not found', 'convert/x', undefined))).toMatchObject({
      code: 'JOB_UNKNOWN',
      message: expect.stringContaining('Temporal knows no job convert/x any more') as unknown,
    });
  });
});
