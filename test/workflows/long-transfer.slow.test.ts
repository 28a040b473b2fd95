import { rigOfEachTest } from '../support/conversion-worker';

describe('a transfer that takes longer than the heartbeat time-out', () => {
  const rig = rigOfEachTest();

  it('is one transfer: neither the server nor the worker gives it up', async () => {
    const longerThanTheTimeoutMs = 18_000;
    rig.stub.on('download/url/get', (_seen, response, stub) => {
      response.writeHead(200, { 'content-length': stub.output.length });
      response.write(stub.output.subarray(0, 4));
      setTimeout(() => response.end(stub.output.subarray(4)), longerThanTheTimeoutMs);
    });
    const result = await rig.client.convert(await rig.request());
    expect(result).toMatchObject({ status: 'succeeded', requests: 5 });
    expect(rig.stub.count('download/url/get')).toBe(1);
  });
});
