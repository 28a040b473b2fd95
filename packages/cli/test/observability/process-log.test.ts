import { ApplicationFailure } from '@temporalio/common';
import { createProcessLog } from '../../src/observability/process-log';
import { SecretMask } from '../../src/observability/secret-mask';
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

describe('a line', () => {
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

  it('is written when it is as important as the level wants', () => {
    const { log, parsed } = openLog({ level: 'warn' });
    for (const level of ['trace', 'debug', 'info', 'warn', 'error'] as const) log(level, { level });
    log('without a level');
    expect(parsed().map(({ msg }) => msg)).toEqual(['warn', 'error']);
  });

  it('has no secret: neither in a field that is named after one, nor anywhere else', () => {
    const { log, lines, secrets } = openLog();
    secrets.hide('hush-4711');
    log('said hush-4711', { token: 'other', authorization: 'x-1', reason: 'because of hush-4711' });
    expect(lines.join('')).not.toMatch(/hush|other|x-1/);
    expect(lines.join('').match(/\*{8}/g)).toHaveLength(4);
  });

  it('for people is one line too, whatever stands in it', () => {
    const { log, lines } = openLog({ format: 'text' });
    log('Job failed\u001b[2J', { level: 'warn', workflowId: 'a\nb', time: '2026-01-02T03:04:05.678Z', attempt: 1 });
    expect(lines).toEqual(['2026-01-02T03:04:05.678Z WARN  Job failed\\x1b[2J workflowId=a\\x0ab attempt=1\n']);
  });
});

describe('what Temporal says', () => {
  it('keeps ids and numbers, and drops whatever else is in an activation', () => {
    const { temporal, lines, parsed } = openLog();
    temporal.trace('Got workflow activation', {
      runId: 'r',
      jobs: [{ headers: { a: Buffer.from('payload') } }],
      n: 1n,
    });
    expect(parsed()).toMatchObject([{ level: 'trace', runId: 'r', n: '1' }]);
    expect(lines.join('')).not.toContain('jobs');
  });

  it('calls a run the same for workflows and activities, and keeps no task token', () => {
    const { temporal, parsed } = openLog();
    temporal.info('x', { workflowRunId: 'r', taskToken: 'who has it may complete the activity', attempt: 1 });
    const [line] = parsed();
    expect(line).toMatchObject({ runId: 'r', attempt: 1 });
    expect(Object.keys(line ?? {})).not.toEqual(expect.arrayContaining([expect.stringMatching(/oken|workflowRunId/)]));
  });

  it('has the time of the event, which is not that of the line', () => {
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

  it('tells a failure by its code, and without a stack', () => {
    const { temporal, parsed } = openLog();
    temporal.warn('Activity failed', { error: failure });
    const [line] = parsed();
    expect(line).toMatchObject({ code: 'FAILED_CONVERT', httpStatus: 200, endpoint: 'v1/convert/file', taskId: 't' });
    expect(line?.['error']).toEqual({ type: 'FAILED_CONVERT', message: 'the file is damaged' });
  });

  it('tells what nobody expected with its stack and its cause', () => {
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

  it('is not told twice of a job that has said itself that it failed', () => {
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
