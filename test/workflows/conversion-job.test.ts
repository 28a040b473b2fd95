import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { ConversionFailedError } from '../../src/client/conversion-handle';
import type { ConversionRequest } from '../../src/client/job-request';
import { begunDownloads } from '../support/begun-downloads';
import { quickPolicies, rigOfEachTest } from '../support/conversion-worker';
import { answerCompleted, answerError, answerJson, answerNotYet, cut } from '../support/stub-service';
import { until } from '../support/until';

describe('conversionJob', () => {
  const rig = rigOfEachTest();

  async function failureOf(overrides: Partial<ConversionRequest> = {}): Promise<ConversionFailedError> {
    const error: unknown = await rig.client.convert(await rig.request(overrides)).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (!(error instanceof ConversionFailedError)) throw new Error('the job did not fail', { cause: error });
    return error;
  }

  it('uploads, converts, polls and downloads, and reports what it spent', async () => {
    const result = await rig.client.convert(await rig.request());
    expect(await readFile(path.join(rig.folder, 'out', 'report.pdf'), 'utf8')).toBe('PK result');
    expect(result).toMatchObject({
      status: 'succeeded',
      vcredits: 1,
      durationSeconds: 1,
      requests: 5,
      possiblyChargedTwice: false,
      output: { name: 'report.pdf', bytes: 9 },
    });
    expect(result.taskId).toBe(rig.stub.requests[2]?.data['connector']);
    expect(rig.stub.requests.map((seen) => seen.path)).toEqual([
      'upload/file',
      'convert/file',
      'task/response',
      'download/url',
      'download/url/get',
    ]);
  });

  it('requests an async conversion with entity and result, and returns size and hash of the uploaded file', async () => {
    const { source } = await rig.client.convert(await rig.request({ input: 'md' }));
    expect(rig.stub.requests[1]?.data).toMatchObject({
      mode: 'async',
      include: ['entity', 'result'],
      parameters: { output: 'pdf', input: 'md' },
    });
    const content = await readFile(await rig.source('report.md'));
    expect(source).toEqual({
      bytes: content.length,
      sha256: createHash('sha256').update(content).digest('hex'),
      stamp: expect.stringMatching(/^[0-9a-z]+(-[0-9a-z]+){3}$/) as string,
    });
  });

  it('converts the connector of an earlier task without an upload, and without a destination leaves the result at the service', async () => {
    const source = { connector: 'c0ffee', name: 'report.md' };
    const result = await rig.client.convert({ source, output: 'pdf', policies: quickPolicies });
    expect([rig.stub.count('upload/file'), rig.stub.requests[0]?.data['connector']]).toEqual([0, 'c0ffee']);
    expect(result.output).toBeUndefined();
    expect(result.connector).toBeDefined();
    expect(rig.stub.count('download/url')).toBe(0);
  });

  it('fails on a connector that the service does not know, since there is nothing to upload', async () => {
    rig.stub.fail('convert/file', 404, 'NO_CONNECTOR_DEPENDENT_TASK');
    expect((await failureOf({ source: { connector: 'gone' } })).code).toBe('NO_CONNECTOR_DEPENDENT_TASK');
    expect(rig.stub.count('convert/file')).toBe(1);
  });

  it('names the result after the source when the destination is a folder', async () => {
    const result = await rig.client.convert(await rig.request({ destination: `${rig.folder}/made/` }));
    expect(result.output?.name).toBe('report.pdf');
    expect(existsSync(path.join(rig.folder, 'made', 'report.pdf'))).toBe(true);
  });

  it('polls until the service has finished, and adds nothing to the history meanwhile', async () => {
    let polls = 0;
    rig.stub.on('task/response', ({ connector: id }, response) => {
      polls += 1;
      if (polls > 12) answerCompleted(response, id);
      else answerNotYet(response, id);
    });
    const handle = await rig.client.start(await rig.request({ policies: { maxCheckInterval: 20 } }));
    await handle.result();
    const { historyLength } = await handle.describe();
    expect(polls).toBe(13);
    expect(historyLength).toBeLessThan(35);
  });

  it('accepts a conversion that the answer to the submit reports as completed, and does not poll', async () => {
    rig.stub.on('convert/file', (_seen, response) =>
      answerJson(response, 200, {
        entity: { id: 'task-1', status: 'completed', vcredits: 3 },
        result: {
          output: { connector: 'task-1', status: 'successful', duration: 2 },
          error: {},
          warning: { lossy: 'x' },
        },
      }),
    );
    const result = await rig.client.convert(await rig.request());
    expect(rig.stub.count('task/response')).toBe(0);
    expect(result).toMatchObject({ requests: 4, vcredits: 3, durationSeconds: 2, warnings: { lossy: 'x' } });
  });

  it('does not take completed for successful: an error in the completed task fails the job with its code', async () => {
    rig.stub.complete({ error: { code: 'FAILED_CONVERT', message: 'the file is damaged.' } });
    const error = await failureOf();
    expect(error.code).toBe('FAILED_CONVERT');
    expect(error.message).toContain('report.md → pdf');
    expect(error.message).toContain('the file is damaged.');
    expect(rig.stub.count('convert/file')).toBe(1);
  });

  it('does not take completed for successful: an unknown output status is a failure that names it', async () => {
    rig.stub.complete({ status: 'halfway' });
    const error = await failureOf();
    expect(error.code).toBe('UNKNOWN_OUTPUT_STATUS');
    expect(error.message).toContain('"halfway"');
  });

  it('uploads again once when the service has lost the upload', async () => {
    rig.stub.first('convert/file', (response) => answerError(response, 404, 'FILE_NOT_EXISTS'));
    await rig.client.convert(await rig.request());
    expect(rig.stub.count('upload/file')).toBe(2);
  });

  it('downloads again after a broken transfer, and leaves only the complete file', async () => {
    const { output } = rig.stub;
    rig.stub.first('download/url/get', (response) => {
      response.writeHead(200, { 'content-length': output.length });
      response.write(output.subarray(0, 4));
      setTimeout(() => cut(response), 50);
    });
    await rig.client.convert(await rig.request());
    expect(await readdir(path.join(rig.folder, 'out'))).toEqual(['report.pdf']);
    expect(await readFile(path.join(rig.folder, 'out', 'report.pdf'), 'utf8')).toBe('PK result');
  });

  describe('when the outcome of the submit is unknown', () => {
    it('submits again under policy resubmit, and says so', async () => {
      rig.stub.first('convert/file', cut);
      expect((await rig.client.convert(await rig.request())).possiblyChargedTwice).toBe(true);
      expect(rig.stub.count('convert/file')).toBe(2);
    });

    it('does not submit again under policy fail, and says how to continue', async () => {
      rig.stub.on('convert/file', (_seen, response) => cut(response));
      const error = await failureOf({ policies: { onUnknownOutcome: 'fail' } });
      expect(error.code).toBe('OUTCOME_UNKNOWN');
      expect(error.message).toContain('--resubmit');
      expect(error.details).toMatchObject({ phase: 'submitting', possiblyChargedTwice: false });
      expect(rig.stub.count('convert/file')).toBe(1);
    });

    it('gives up after maxResubmissions', async () => {
      rig.stub.on('convert/file', (_seen, response) => cut(response));
      const error = await failureOf({ policies: { maxResubmissions: 1 } });
      expect(error.details).toMatchObject({ code: 'OUTCOME_UNKNOWN', possiblyChargedTwice: true });
      expect(rig.stub.count('convert/file')).toBe(2);
    });
  });

  it('fails and names the app when the credits deadline passes', async () => {
    rig.stub.fail('convert/file', 403, 'INSUFFICIENT_VCREDITS');
    const error = await failureOf({ policies: { parkedDeadline: 300 } });
    expect(error.code).toBe('INSUFFICIENT_VCREDITS');
    expect(error.message).toContain('app stub');
  });

  it('fails and names the task when the conversion deadline passes', async () => {
    rig.stub.hold();
    const error = await failureOf({ policies: { conversionDeadline: 300 } });
    expect(error.code).toBe('CONVERSION_DEADLINE');
    expect(error.details?.taskId).toBeDefined();
  });

  it('stops waiting when it is cancelled, and notes in its memo that the task goes on at the service, and whether it is charged', async () => {
    rig.stub.hold();
    const handle = await rig.client.start(await rig.request());
    await until('the job waits', async () => (await handle.state()).phase === 'converting');
    const { taskId } = await handle.state();
    await handle.cancel();
    await expect(handle.result()).rejects.toMatchObject({ code: 'CANCELLED' });
    const { memo, status } = await handle.describe();
    expect(status.name).toBe('CANCELLED');
    expect(memo).toMatchObject({
      conversionNote: expect.stringContaining('no cancel endpoint') as string,
      conversionTaskId: taskId,
      conversionPhase: 'converting',
      conversionCharge: 'yes',
    });
  });

  it('leaves no temporary file when it is cancelled in the middle of a download', async () => {
    rig.stub.on('download/url/get', (_seen, response, stub) => {
      response.writeHead(200, { 'content-length': stub.output.length });
      response.write(stub.output.subarray(0, 4));
    });
    const handle = await rig.client.start(await rig.request());
    const out = path.join(rig.folder, 'out');
    await until('the download began', async () => (await begunDownloads(out)).length === 1);
    await handle.cancel();
    await expect(handle.result()).rejects.toMatchObject({ code: 'CANCELLED' });
    expect(await readdir(out)).toEqual([]);
  });

  describe('when the destination exists', () => {
    beforeEach(async () => await writeFile(path.join(rig.folder, 'taken.pdf'), 'old'));

    const taken = () => path.join(rig.folder, 'taken.pdf');

    it('fails before anything is sent', async () => {
      expect((await failureOf({ destination: taken() })).code).toBe('DESTINATION_EXISTS');
      expect([rig.stub.requests.length, await readFile(taken(), 'utf8')]).toEqual([0, 'old']);
    });

    it('skips before anything is sent', async () => {
      const result = await rig.client.convert(await rig.request({ destination: taken(), onExisting: 'skip' }));
      expect([result.status, rig.stub.requests.length]).toEqual(['skipped', 0]);
    });

    it('renames the new file', async () => {
      const result = await rig.client.convert(await rig.request({ destination: taken(), onExisting: 'rename' }));
      expect(result.output?.name).toBe('taken (1).pdf');
      expect(await readFile(taken(), 'utf8')).toBe('old');
    });
  });
});
