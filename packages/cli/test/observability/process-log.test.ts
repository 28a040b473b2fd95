import { ApplicationFailure } from '@temporalio/common';
import { createProcessLog } from '../../src/observability/process-log';
import { SecretMask } from '../../src/output/secret-mask';
import { createTemporalLogger } from '../../src/observability/worker-runtime';
import type { LogLevel } from '../../../../src/messages/log';

function openLog({ level = 'trace', format = 'json' }: { level?: LogLevel; format?: 'json' | 'text' } = {}) {
  const lines: string[] = [];
  const secrets = new SecretMask();
  const stream = { write: (line: string) => lines.push(line) };
  const log = createProcessLog({ process: 'worker', level, format, secrets, stream });
  const parsed = () => lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  return { lines, parsed, secrets, log, temporal: createTemporalLogger(log) };
}

describe('a log line', () => {
  it('is one line of JSON with level, process, time and message', () => {
    const { log, lines, parsed } = openLog();
    log('Two\nlines', { level: 'warn', workflowId: 'a', attempt: 2 });
    expect(lines.join('')).toMatch(/^[^\n]+\n$/);
    expect(parsed()).toEqual([
      {
        level: 'warn',
        process: 'worker',
        pid: process.pid,
        time: expect.stringMatching(/^\d{4}-.*Z$/) as string,
        workflowId: 'a',
        attempt: 2,
        msg: 'Two\nlines',
      },
    ]);
  });

  it('is written from the configured level up', () => {
    const { log, parsed } = openLog({ level: 'warn' });
    for (const level of ['trace', 'debug', 'info', 'warn', 'error'] as const) log(level, { level });
    log('without a level');
    expect(parsed().map(({ msg }) => msg)).toEqual(['warn', 'error']);
  });

  it('contains no secret, neither in a field named like one nor anywhere else', () => {
    const { log, lines, secrets } = openLog();
    secrets.hide('hush-4711');
    log('said hush-4711', { token: 'other', authorization: 'x-1', reason: 'because of hush-4711' });
    expect(lines.join('')).not.toMatch(/hush|other|x-1/);
    expect(lines.join('').match(/\*{8}/g)).toHaveLength(4);
  });

  it('stays one line in the text format, whatever it contains', () => {
    const { log, lines } = openLog({ format: 'text' });
    log('Job failed\u001b[2J', { level: 'warn', workflowId: 'a\nb', time: '2026-01-02T03:04:05.678Z', attempt: 1 });
    expect(lines).toEqual(['2026-01-02T03:04:05.678Z WARN  Job failed\\x1b[2J workflowId=a\\x0ab attempt=1\n']);
  });
});

describe('messages of Temporal', () => {
  it('keep ids and numbers of an activation, and drop the rest', () => {
    const { temporal, lines, parsed } = openLog();
    temporal.trace('Got workflow activation', {
      runId: 'r',
      jobs: [{ headers: { a: Buffer.from('payload') } }],
      n: 1n,
    });
    expect(parsed()).toMatchObject([{ level: 'trace', runId: 'r', n: '1' }]);
    expect(lines.join('')).not.toContain('jobs');
  });

  it('use one field for the run of workflows and activities, and drop the task token', () => {
    const { temporal, parsed } = openLog();
    temporal.info('x', { workflowRunId: 'r', taskToken: 'who has it may complete the activity', attempt: 1 });
    const [line] = parsed();
    expect(line).toMatchObject({ runId: 'r', attempt: 1 });
    expect(Object.keys(line ?? {})).not.toEqual(expect.arrayContaining([expect.stringMatching(/oken|workflowRunId/)]));
  });

  it('have the time of the event rather than of the line', () => {
    const { temporal, parsed } = openLog();
    temporal.info('x', { [Symbol.for('log_timestamp')]: 1_767_323_045_678_000_000n });
    expect(parsed()[0]).toMatchObject({ time: '2026-01-02T03:04:05.678Z' });
  });

  const failure = ApplicationFailure.create({
    message: 'the file is damaged',
    type: 'FAILED_CONVERT',
    details: [{ code: 'FAILED_CONVERT', httpStatus: 200, endpoint: 'v1/convert/file', taskId: 't', requests: 1 }],
    cause: new Error('the file is damaged'),
  });

  it('show a known failure by its code, without a stack', () => {
    const { temporal, parsed } = openLog();
    temporal.warn('Activity failed', { error: failure });
    const [line] = parsed();
    expect(line).toMatchObject({ code: 'FAILED_CONVERT', httpStatus: 200, endpoint: 'v1/convert/file', taskId: 't' });
    expect(line?.['error']).toEqual({ type: 'FAILED_CONVERT', message: 'the file is damaged' });
  });

  it('show an unexpected error with its stack and cause', () => {
    const { temporal, parsed } = openLog();
    temporal.error('Oh', { error: new TypeError('outer', { cause: new RangeError('inner') }) });
    const [line] = parsed();
    expect(line).not.toHaveProperty('code');
    expect(line?.['error']).toMatchObject({
      type: 'TypeError',
      message: 'outer',
      stack: expect.stringContaining('process-log.test') as string,
      cause: { type: 'RangeError', message: 'inner' },
    });
  });

  it('do not repeat the failure of a job that has logged it itself', () => {
    const { temporal, parsed } = openLog();
    temporal.warn('Job failed', { runId: 'one' });
    temporal.warn('Workflow failed', { runId: 'one', error: failure });
    temporal.warn('Workflow failed', { runId: 'two', error: failure });
    expect(parsed().map(({ level, runId }) => [runId, level])).toEqual([
      ['one', 'warn'],
      ['one', 'debug'],
      ['two', 'warn'],
    ]);
  });
});
