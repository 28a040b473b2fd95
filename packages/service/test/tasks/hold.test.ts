import { longMarkdown, serviceOfAllTests, tinySvg } from '../support';

/** The state hold: an accepted task that waits for an engine. */

const running = serviceOfAllTests({ conversionConcurrency: 1 });

it('lasts from acceptance until an engine is free', async () => {
  const { client } = running;
  const statusOf = async (connector: string) => [
    (await client.post('task/response', { connector })).output.entity?.status,
    (await client.post('convert/status', { connector })).output.status,
  ];
  const first = await client.startConversion(await client.upload('long.md', longMarkdown(40)), 'docx');
  const second = await client.startConversion(await client.upload('logo.svg', tinySvg), 'png');
  expect(await statusOf(first)).toEqual(['running', 'pending']);
  expect(await statusOf(second)).toEqual(['hold', 'waiting']);
  await client.waitForTask(second);
  expect(await statusOf(second)).toEqual(['completed', 'successful']);
});
