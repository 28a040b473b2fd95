import { closeAll, connectTo, sendJson, serve } from './loopback';

afterEach(closeAll);

function file(name: string) {
  async function* open(): AsyncGenerator<Uint8Array> {
    yield await Promise.resolve(Buffer.from('x'));
  }
  return { name, size: 1, open };
}

it('an upload that is answered late delays the next one of the app by a second, not until its answer', async () => {
  const events: string[] = [];
  const answers: (() => void)[] = [];
  const { baseUrl } = await serve((response, { body }) => {
    const name = /filename="(\w+)"/.exec(body.toString())?.[1] ?? '';
    events.push(`${name} came`);
    answers.push(() => {
      events.push(`${name} was answered`);
      sendJson(response, { result: { output: { connector: name } } }, 200, {
        'x-ratelimit-limit': '10',
        'x-ratelimit-remaining': '5',
        'x-ratelimit-reset': '60',
      });
    });
    // Answers the first once the second has arrived.
    if (answers.length === 2) for (const answer of answers) answer();
  });
  const api = connectTo(baseUrl);
  await Promise.all(['first', 'second'].map((name) => api.uploadFile({ file: file(name) })));
  expect(events).toEqual(['first came', 'second came', 'first was answered', 'second was answered']);
});
