import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { ServiceError } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { ConversionFailedError, type ConversionHandle } from '../../../src/client/conversion-handle';
import { runJobs, type RunOptions } from '../src/convert/run-jobs';
import type { FileRequest } from '../src/convert/start-or-join';

type End = () => Promise<unknown>;

/** Starts jobs that end as the test says, by the name of their source. */
function startOf(ends: Record<string, End>): { start: RunOptions['start']; requests: FileRequest[] } {
  const requests: FileRequest[] = [];
  return {
    start(request) {
      requests.push(request);
      const name = path.basename(request.source);
      const handle = { workflowId: `convert/${name}`, result: ends[name] } as unknown as ConversionHandle;
      return Promise.resolve({ handle, joined: false });
    },
    requests,
  };
}

function optionsFor(start: RunOptions['start'], extra: Partial<RunOptions> = {}): RunOptions {
  return {
    start,
    untilClosed: (run) => run(),
    onExisting: 'fail',
    policies: {},
    parallel: 20,
    cwd: '/home/user',
    progress: {
      begin: () => ({ started: () => undefined, end: () => undefined }),
      close: () => undefined,
    },
    inFlight: new Map(),
    onJoined: () => undefined,
    onOutcome: () => undefined,
    signal: new AbortController().signal,
    ...extra,
  };
}

const jobOf = (file: string) => ({
  input: { file, location: `/home/user/${file}`, extension: 'md' },
  to: 'pdf',
  destination: `/home/user/out/${file.replace(/md$/, 'pdf')}`,
});
const succeeded = () => Promise.resolve({ status: 'succeeded', warnings: {}, possiblyChargedTwice: false });
const after = (ms: number) => () => new Promise((resolve) => setTimeout(() => resolve(succeeded()), ms));

it('gives the outcomes in the order of the files, however the jobs end', async () => {
  const { start } = startOf({ 'a.md': after(40), 'b.md': after(5), 'c.md': after(20) });
  const told: string[] = [];
  const outcomes = await runJobs(
    ['a.md', 'b.md', 'c.md'].map(jobOf),
    optionsFor(start, { onOutcome: ({ file }, done) => told.push(`${done} ${file}`) }),
  );
  expect(told).toEqual(['1 b.md', '2 c.md', '3 a.md']);
  expect(outcomes.map(({ file }) => file)).toEqual(['a.md', 'b.md', 'c.md']);
});

it('starts no more jobs than may be in flight, and none after an interruption', async () => {
  const interrupt = new AbortController();
  const { start, requests } = startOf({ 'a.md': after(10), 'b.md': () => new Promise(() => undefined) });
  const running = runJobs(
    ['a.md', 'b.md', 'c.md', 'd.md'].map(jobOf),
    optionsFor(start, { parallel: 1, signal: interrupt.signal }),
  );
  setTimeout(() => interrupt.abort(), 60);
  expect((await running).map(({ status }) => status)).toEqual(['converted', 'unfinished', 'notStarted', 'notStarted']);
  expect(requests.map(({ source }) => source)).toEqual(['/home/user/a.md', '/home/user/b.md']);
});

describe('a failure is told in terms of what was typed', () => {
  const name = '100% #1.md';
  const failing = async (error: Error) => {
    const { start } = startOf({ [name]: () => Promise.reject(error) });
    const [outcome] = await runJobs([jobOf(name)], optionsFor(start));
    return outcome?.error;
  };
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
