import { setTimeout as sleep } from 'node:timers/promises';
import type { ConversionRequest } from '../../src/client/job-request';
import { rigOfEachTest } from '../support/conversion-worker';
import { answerJson, answerRunning } from '../support/stub-service';

describe('a job in mode sync', () => {
  const rig = rigOfEachTest({ timeouts: { headersMs: 1_500 } });

  beforeEach(() => rig.stub.on('convert/file', (_seen, response) => answerDone(response)));

  function answerDone(response: Parameters<typeof answerJson>[0], error?: { code: string; message: string }): void {
    const id = '2f0c5f0e-6a0f-4d0c-9c65-3c8f3f0c7a11';
    const output = error ? {} : { connector: id, status: 'successful', duration: 1 };
    const entity = { id, type: 'task', status: 'completed', vcredits: error ? 0 : 1 };
    answerJson(response, 200, { entity, result: { output, error: error ?? {}, warning: {} } });
  }

  const request = (policies: ConversionRequest['policies'] = {}) => rig.request({ mode: 'sync', policies });

  it('takes four requests and no poll', async () => {
    const result = await rig.client.convert(await request());
    expect(result).toMatchObject({ status: 'succeeded', requests: 4, vcredits: 1, durationSeconds: 1 });
    expect(rig.stub.requests.map((seen) => seen.path)).toEqual([
      'upload/file',
      'convert/file',
      'download/url',
      'download/url/get',
    ]);
    expect(rig.stub.requests[1]?.data).toMatchObject({ mode: 'sync' });
  });

  it('waits for the answer up to submitTimeout, beyond the usual timeout of an answer', async () => {
    rig.stub.on('convert/file', async (_seen, response) => {
      await sleep(2_000);
      answerDone(response);
    });
    const result = await rig.client.convert(await request({ submitTimeout: '10 seconds' }));
    expect(result).toMatchObject({ status: 'succeeded', requests: 4, possiblyChargedTwice: false });
  });

  it('polls a conversion that the service only accepted', async () => {
    rig.stub.on('convert/file', (_seen, response) => answerRunning(response, '2f0c5f0e-6a0f-4d0c-9c65-3c8f3f0c7a11'));
    expect(await rig.client.convert(await request())).toMatchObject({ status: 'succeeded', requests: 5 });
  });

  it('fails with the code of a failed conversion', async () => {
    rig.stub.on('convert/file', (_seen, response) => {
      answerDone(response, { code: 'FAILED_CONVERT', message: 'The file is damaged.' });
    });
    await expect(rig.client.convert(await request())).rejects.toMatchObject({ code: 'FAILED_CONVERT' });
    expect(rig.stub.count('convert/file')).toBe(1);
  });

  describe('without an answer in time', () => {
    beforeEach(() => {
      let submits = 0;
      rig.stub.on('convert/file', (_seen, response) => {
        submits += 1;
        if (submits > 1) answerDone(response);
      });
    });

    it('ends with an unknown outcome under policy fail, and does not submit again', async () => {
      const job = rig.client.convert(await request({ submitTimeout: '2 seconds', onUnknownOutcome: 'fail' }));
      await expect(job).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
      expect(rig.stub.count('convert/file')).toBe(1);
    });

    it('submits again under policy resubmit, and says that it may be charged twice', async () => {
      const result = await rig.client.convert(await request({ submitTimeout: '2 seconds' }));
      expect(result).toMatchObject({ status: 'succeeded', possiblyChargedTwice: true });
      expect(rig.stub.count('convert/file')).toBe(2);
    });
  });
});
