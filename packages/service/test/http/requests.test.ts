import { createApp, parseAnswer, serviceOfAllTests, tinyPng, tinySvg } from '../support';

/** What the service makes of requests, beyond what the rules of the document say (packages/conformance/src/rules). */

const [own, other] = [createApp('own'), createApp('other')];
const running = serviceOfAllTests({ apps: [own.app, other.app] }, own);
const { client } = running;

const unknownConnector = '00000000-0000-4000-8000-000000000000';
const emptyError = { output: {}, warning: {} };

it('a GET of a known path is told of POST, and of an unknown one that there is nothing', async () => {
  const known = await fetch(`${client.url}/v1/convert/file?x=1`);
  expect(known.headers.get('allow')).toBe('POST');
  expect((await parseAnswer(known)).body.result).toMatchObject(emptyError);
  const { status, error } = await parseAnswer(await fetch(`${client.url}/v2/convert/file`));
  expect([status, error.code]).toEqual([404, 'NOT_FOUND']);
});

it('takes an upload without a version for one of the latest', async () => {
  const { body } = await client.post('../upload/file', { include: ['entity'] }, { name: 'dot.png', data: tinyPng });
  expect(body.entity).toMatchObject({ endpoint: 'v1/upload/file', status: 'completed' });
});

describe('authentication', () => {
  it.each([
    ['Bearer', 'INVALID_AUTHORIZATION_HEADER'],
    ['bearer wrong', 'INVALID_AUTHORIZATION_HEADER'],
    ['Bearer two words', 'INVALID_CREDENTIAL'],
  ])('refuses the header %s', async (authorization, code) => {
    const response = await fetch(`${client.url}/v1/task/response`, { method: 'POST', headers: { authorization } });
    const { status, error } = await parseAnswer(response);
    expect([status, error.code]).toEqual([403, code]);
  });

  it('looks at the rest of the data before it refuses the App ID of another app', async () => {
    const answer = await client.postField('convert/formats', JSON.stringify({ app: other.app.appId }));
    expect(answer.error.code).toBe('MISSING_REQUIRED_DATA_KEY');
  });

  it('never logs a token', async () => {
    await client.post('convert/formats', { parameters: { sublist: 'inputs' } });
    expect(running.logged.join('\n')).not.toContain(client.token);
  });
});

describe('the field data', () => {
  it('is missing when the body is of another kind', async () => {
    const headers = { 'content-type': 'application/json' };
    for (const init of [{}, { body: '{"data":{}}', headers }, { body: new URLSearchParams({ other: '1' }) }]) {
      const { status, error } = await parseAnswer(await client.send('task/response', init));
      expect([status, error.code, error.message]).toEqual([
        400,
        'MISSING_REQUIRED_FIELD',
        'The field data is required.',
      ]);
    }
  });

  it('must not be sent twice', async () => {
    const { error } = await parseAnswer(
      await client.send('task/response', { body: new URLSearchParams('data=1&data=2') }),
    );
    expect(error.code).toBe('WRONG_TYPE_FIELD');
  });

  it.each([
    ['{"app": ', 'INVALID_FIELD', 'it is not JSON'],
    ['', 'INVALID_FIELD', 'it is empty'],
  ])('must hold a JSON object, not %s', async (field, code, reason) => {
    const { status, error } = await client.postField('task/response', field);
    expect([status, error.code]).toEqual([400, code]);
    expect(error.message).toContain(reason);
  });

  it('is refused when it is larger than a megabyte, and told so', async () => {
    const { status, error } = await client.postField('task/response', JSON.stringify({ x: 'y'.repeat(3_000_000) }));
    const message = 'The field data is invalid: it is larger than 1 MiB.';
    expect([status, error]).toEqual([400, { code: 'INVALID_FIELD', message }]);
  });

  it.each([
    ['without a boundary', 'multipart/form-data', '--x\r\n', /names no boundary/],
    ['that does not hold its boundary', 'multipart/form-data; boundary=x', '{}', /does not hold the boundary/],
    ['that is cut off', 'multipart/form-data; boundary=x', '--x\r\ncontent-disp', /ends before its last boundary/],
  ])('in a form %s is refused with the reason', async (_what, type, body, reason) => {
    const answer = await client.send('task/response', { body, headers: { 'content-type': type } });
    const { status, error } = await parseAnswer(answer);
    expect([status, error.code]).toEqual([400, 'INVALID_FIELD']);
    expect(error.message).toMatch(reason);
    const upload = await client.send('upload/file', { body, headers: { 'content-type': type } });
    expect((await parseAnswer(upload)).error.message).toMatch(
      /^The field data is invalid: the form could not be read, \S/,
    );
  });

  it.each([
    [{ app: 'mine' }, 'WRONG_VALUE_DATA_KEY', 'app'],
    [{ connector: '../../etc/passwd' }, 'WRONG_VALUE_DATA_KEY', 'connector'],
    [{ connector: null }, 'WRONG_TYPE_DATA_KEY', 'connector'],
    [{ include: ['everything'] }, 'WRONG_VALUE_DATA_KEY', 'include'],
    [{ parameters: undefined }, 'MISSING_REQUIRED_DATA_KEY', 'parameters'],
    [{ parameters: { output: '' } }, 'WRONG_VALUE_PARAMETER', 'output'],
    [{ parameters: { output: 'pdf', input: 7 } }, 'WRONG_TYPE_PARAMETER', 'input'],
    [{ parameters: { output: 'pdf', colour: 9 } }, 'INVALID_PARAMETER', 'colour'],
    [{ parameters: { output: 'webp', quality: '9' } }, 'WRONG_TYPE_PARAMETER', 'quality'],
    [{ parameters: { output: 'webp', quality: 101 } }, 'WRONG_VALUE_PARAMETER', 'quality'],
    [{ parameters: { output: 'pdf', page_size: 'a9' } }, 'WRONG_VALUE_PARAMETER', 'page_size'],
    [{ parameters: { output: 'png', pages: 'all' } }, 'WRONG_VALUE_PARAMETER', 'pages'],
    [{ parameters: { output: 'png', pages: 1.5 } }, 'WRONG_TYPE_PARAMETER', 'pages'],
    [{ conector: unknownConnector }, 'INVALID_DATA_KEY', 'conector'],
  ])('with %j is answered with %s [%s]', async (change, code, name) => {
    const data = { app: client.app.appId, connector: unknownConnector, parameters: { output: 'pdf' }, ...change };
    const { status, error, body } = await client.postField('convert/file', JSON.stringify(data));
    expect([status, error.code]).toEqual([400, code]);
    expect(error.message).toContain(` ${name} `);
    expect(body.result).toMatchObject(emptyError);
  });

  it('names a key that only JSON can hold, and keeps a hostile name to one short line', async () => {
    const proto = await client.postField(
      'task/response',
      `{"app":"${client.app.appId}","connector":"${unknownConnector}","__proto__":1}`,
    );
    expect(proto.error).toEqual({ code: 'INVALID_DATA_KEY', message: 'The data key __proto__ is invalid.' });
    const { error } = await client.post('task/response', {
      connector: unknownConnector,
      [`a\nb${'x'.repeat(500)}`]: 1,
    });
    expect(error.message).toMatch(/^The data key a\?bx{94}\.\.\. is invalid\.$/);
  });

  it('takes no parameter where there is none', async () => {
    const { error } = await client.post('download/url', { connector: unknownConnector, parameters: { inline: true } });
    expect(error).toEqual({ code: 'INVALID_PARAMETER', message: 'The parameter inline is invalid.' });
    const file = { name: 'dot.png', data: tinyPng };
    expect((await client.post('upload/file', { parameters: {} }, file)).error).toEqual({});
  });

  const blob = new Blob(['{}']);
  it.each<[string, string, Record<string, string | Blob>, string, string]>([
    ['a field that no endpoint has', 'task/response', { data: '{}', extra: '1' }, 'INVALID_FIELD', 'extra'],
    ['a file where none belongs', 'task/response', { data: '{}', file: blob }, 'INVALID_FIELD', 'file'],
    ['data as a file', 'task/response', { data: blob }, 'WRONG_TYPE_FIELD', 'data'],
    ['a file as text', 'upload/file', { data: '{}', file: 'text' }, 'WRONG_TYPE_FIELD', 'file'],
    ['another field in an upload', 'upload/file', { data: '{}', extra: '1' }, 'INVALID_FIELD', 'extra'],
    ['another file in an upload', 'upload/file', { data: '{}', image: blob }, 'INVALID_FIELD', 'image'],
    ['nothing', 'task/response', {}, 'MISSING_REQUIRED_FIELD', 'data'],
  ])('stands in a form that must not hold %s', async (_title, endpoint, fields, code, name) => {
    const form = new FormData();
    for (const [field, value] of Object.entries(fields)) form.set(field, value);
    const { status, error } = await parseAnswer(await client.send(endpoint, { body: form }));
    expect([status, error.code]).toEqual([400, code]);
    expect(error.message).toContain(` ${name} `);
  });
});

describe('an upload', () => {
  const head = (name: string, more = ''): string =>
    `--b\r\nContent-Disposition: form-data; name=${name}\r\n${more}\r\n`;
  const send = async (body: string) =>
    parseAnswer(
      await client.send('upload/file', { body, headers: { 'content-type': 'multipart/form-data; boundary=b' } }),
    );
  const field = () => JSON.stringify({ app: client.app.appId });

  it.each([
    ['"file"', 'Content-Type: application/octet-stream\r\n'],
    ['"file"', ''],
    ['"file"; filename=""', ''],
  ])('whose part is name=%s is told that its file name is missing', async (name, more) => {
    const { status, error } = await send(`${head('"data"')}${field()}\r\n${head(name, more)}x\r\n--b--`);
    expect([status, error.code]).toEqual([400, 'WRONG_TYPE_FIELD']);
    expect(error.message).toMatch(/^The field file has the wrong type: its part has no file name; send /);
  });

  it('whose data is of the type JSON keeps it character by character, and takes no JSON text that holds it', async () => {
    const payload = `{"app": "${client.app.appId}", "include": ["payload"], "include": [ "payload" ] }`;
    const form = (data: string) =>
      `${head('data', 'Content-Type: application/json\r\n')}${data}\r\n${head('file; filename=a.md')}x\r\n--b--`;
    const init = { body: form(payload), headers: { 'content-type': 'multipart/form-data; boundary=b' } };
    expect(await (await client.send('upload/file', init)).text()).toBe(`{"payload":${payload}}`);
    expect((await send(form(JSON.stringify(payload)))).error.code).toBe('WRONG_TYPE_FIELD');
  });
});

describe('the answer', () => {
  it('gives back the payload exactly as it was sent, character by character', async () => {
    const sent = `{ "parameters":{"sublist":"inp\\u0075ts"},\n "include":["payload", "payload"],  "\\u0061pp":"${client.app.appId}"}`;
    const response = await client.send('convert/formats', { body: new URLSearchParams({ data: sent }) });
    expect(await response.text()).toBe(`{"payload":${sent}}`);
  });

  it('tells times in UTC, and nothing of a conversion but connector, status and duration', async () => {
    const before = Math.floor(Date.now() / 1000) * 1000;
    const { body, output } = await client.convert({ name: 'logo.svg', data: tinySvg }, 'png');
    const createdAt = new Date(`${String(body.entity?.['created_at']).replace(' ', 'T')}Z`);
    expect(createdAt.getTime()).toBeGreaterThanOrEqual(before);
    expect(Object.keys(output)).toEqual(['connector', 'status', 'duration']);
  });
});
