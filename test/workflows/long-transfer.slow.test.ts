import path from 'node:path';
import { quickPolicies, startRig, type ConversionRig } from '../support/conversion-worker';

describe('a transfer that takes longer than the heartbeat time-out', () => {
  let rig: ConversionRig;

  beforeEach(async () => {
    rig = await startRig();
  });

  afterEach(async () => {
    await rig.close();
  });

  it('is one transfer: neither the server nor the worker gives it up', async () => {
    const longerThanTheTimeoutMs = 18_000;
    rig.stub.on('download/url/get', (_seen, response, stub) => {
      response.writeHead(200, { 'content-length': stub.output.length });
      response.write(stub.output.subarray(0, 4));
      setTimeout(() => response.end(stub.output.subarray(4)), longerThanTheTimeoutMs);
    });
    const result = await rig.client.convert({
      source: await rig.source('report.md'),
      output: 'pdf',
      destination: path.join(rig.folder, 'report.pdf'),
      policies: quickPolicies,
    });
    expect(result).toMatchObject({ status: 'succeeded', requests: 5 });
    expect(rig.stub.count('download/url/get')).toBe(1);
  });
});
