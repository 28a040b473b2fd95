import path from 'node:path';
import { quickPolicies, rigOfEachTest } from '../support/conversion-worker';

const rig = rigOfEachTest();

it('a download whose URL was the last request of a window waits for the next window, and asks for no second URL', async () => {
  rig.stub.on('download/url', (seen, response) => {
    response.setHeader('x-ratelimit-limit', 2);
    response.setHeader('x-ratelimit-remaining', 0);
    response.setHeader('x-ratelimit-reset', 10);
    rig.stub.answerAsAlways(seen, response);
  });
  const destination = path.join(rig.folder, 'a.pdf');
  const result = await rig.client.convert({
    source: await rig.source('a.md'),
    output: 'pdf',
    destination,
    policies: quickPolicies,
  });
  expect(result).toMatchObject({ status: 'succeeded', requests: 5 });
});
