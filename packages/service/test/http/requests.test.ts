import { createApp, parseAnswer, serviceOfAllTests, tinyPng } from '../support';

/** Requests beyond the rules of the document, which packages/conformance/src/rules covers. */

const own = createApp('own');
const running = serviceOfAllTests({ apps: [own.app] }, own);
const { client } = running;

const unknownConnector = '00000000-0000-4000-8000-000000000000';
const field = () => JSON.stringify({ app: client.app.appId });

it('answers a GET of a known path with Allow: POST', async () =>
  expect((await fetch(`${client.url}/v1/convert/file?x=1`)).headers.get('allow')).toBe('POST'));

describe('the field data', () => {
  it.each<[string, RequestInit, string, string]>([
    [
      'a body of another kind',
      { body: '{"data":{}}', headers: { 'content-type': 'application/json' } },
      'MISSING_REQUIRED_FIELD',
      'The field data is required.',
    ],
    [
      'data that is there twice',
      { body: new URLSearchParams('data=1&data=2') },
      'WRONG_TYPE_FIELD',
      'The field data has the wrong type: it is there more than once.',
    ],
    [
      'data that is no JSON',
      { body: new URLSearchParams({ data: '{"app": ' }) },
      'INVALID_FIELD',
      'The field data is invalid: it is not JSON.',
    ],
    [
      'data that is empty',
      { body: new URLSearchParams({ data: '' }) },
      'INVALID_FIELD',
      'The field data is invalid: it is empty.',
    ],
    [
      'a form without a boundary',
      { body: '--x\r\n', headers: { 'content-type': 'multipart/form-data' } },
      'INVALID_FIELD',
      'The field data is invalid: the form could not be read, as its content type names no boundary.',
    ],
  ])('is refused with the reason: %s', async (_what, init, code, message) => {
    const { status, error } = await parseAnswer(await client.send('task/response', init));
    expect([status, error]).toEqual([400, { code, message }]);
  });

  it.each([
    [{ conector: unknownConnector }, 'INVALID_DATA_KEY', 'conector'],
    [{ parameters: { output: '' } }, 'WRONG_VALUE_PARAMETER', 'output'],
    [{ parameters: { output: 'pdf', input: 7 } }, 'WRONG_TYPE_PARAMETER', 'input'],
    [{ parameters: { output: 'pdf', colour: 9 } }, 'INVALID_PARAMETER', 'colour'],
    [{ parameters: { output: 'webp', quality: '9' } }, 'WRONG_TYPE_PARAMETER', 'quality'],
    [{ parameters: { output: 'webp', quality: 101 } }, 'WRONG_VALUE_PARAMETER', 'quality'],
    [{ parameters: { output: 'pdf', page_size: 'a9' } }, 'WRONG_VALUE_PARAMETER', 'page_size'],
    [{ parameters: { output: 'png', pages: 'all' } }, 'WRONG_VALUE_PARAMETER', 'pages'],
    [{ parameters: { output: 'png', pages: 1.5 } }, 'WRONG_TYPE_PARAMETER', 'pages'],
  ])('with %j is answered with %s [%s]', async (change, code, name) => {
    const data = { connector: unknownConnector, parameters: { output: 'pdf' }, ...change };
    const { status, error } = await client.post('convert/file', data);
    expect([status, error.code]).toEqual([400, code]);
    expect(error.message).toContain(` ${name} `);
  });

  it('is refused with the name of a wrong key, even __proto__; a hostile name is shortened to one line', async () => {
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

  it('may have no parameters at an endpoint without any', async () => {
    const { error } = await client.post('download/url', { connector: unknownConnector, parameters: { inline: true } });
    expect(error).toEqual({ code: 'INVALID_PARAMETER', message: 'The parameter inline is invalid.' });
    const file = { name: 'dot.png', data: tinyPng };
    expect((await client.post('upload/file', { parameters: {} }, file)).error).toEqual({});
  });

  const blob = new Blob(['{}']);
  it.each<[string, string, Record<string, string | Blob>, string, string]>([
    ['a field that no endpoint has', 'task/response', { data: '{}', extra: '1' }, 'INVALID_FIELD', 'extra'],
    ['a file where none belongs', 'task/response', { data: '{}', file: blob }, 'INVALID_FIELD', 'file'],
    [
      'data as a file',
      'task/response',
      { data: blob },
      'WRONG_TYPE_FIELD',
      'data has the wrong type: it is a file; send its text (curl:',
    ],
    ['a file as text', 'upload/file', { data: '{}', file: 'text' }, 'WRONG_TYPE_FIELD', 'file'],
    ['another field in an upload', 'upload/file', { data: '{}', extra: '1' }, 'INVALID_FIELD', 'extra'],
    ['another file in an upload', 'upload/file', { data: '{}', image: blob }, 'INVALID_FIELD', 'image'],
  ])('is refused in a form with %s', async (_title, endpoint, fields, code, name) => {
    const form = new FormData();
    for (const [key, value] of Object.entries(fields)) form.set(key, value);
    const { status, error } = await parseAnswer(await client.send(endpoint, { body: form }));
    expect([status, error.code]).toEqual([400, code]);
    expect(error.message).toContain(` ${name} `);
  });
});

describe('an upload', () => {
  const head = (name: string, more = ''): string =>
    `--b\r\nContent-Disposition: form-data; name=${name}\r\n${more}\r\n`;
  const send = async (body: string) =>
    client.send('upload/file', { body, headers: { 'content-type': 'multipart/form-data; boundary=b' } });

  it.each([
    ['"file"', 'Content-Type: application/octet-stream\r\n'],
    ['"file"', ''],
    ['"file"; filename=""', ''],
  ])('with the part name=%s is refused because its file name is missing', async (name, more) => {
    const answer = await send(`${head('"data"')}${field()}\r\n${head(name, more)}x\r\n--b--`);
    const { status, error } = await parseAnswer(answer);
    expect([status, error.code]).toEqual([400, 'WRONG_TYPE_FIELD']);
    expect(error.message).toMatch(/^The field file has the wrong type: its part has no file name; send /);
  });

  it('with data of type JSON echoes it character by character, and refuses data that is a JSON string', async () => {
    const payload = `{"app": "${client.app.appId}", "include": ["payload"], "include": [ "payload" ] }`;
    const form = (data: string) =>
      `${head('data', 'Content-Type: application/json\r\n')}${data}\r\n${head('file; filename=a.md')}x\r\n--b--`;
    expect(await (await send(form(payload))).text()).toBe(`{"payload":${payload}}`);
    expect((await parseAnswer(await send(form(JSON.stringify(payload))))).error.code).toBe('WRONG_TYPE_FIELD');
  });
});

describe('the answer', () => {
  it('echoes the payload character by character', async () => {
    const sent = `{ "parameters":{"sublist":"inp\\u0075ts"},\n "include":["payload", "payload"],  "\\u0061pp":"${client.app.appId}"}`;
    const response = await client.send('convert/formats', { body: new URLSearchParams({ data: sent }) });
    expect(await response.text()).toBe(`{"payload":${sent}}`);
  });

  it('has times in UTC', async () => {
    const before = Math.floor(Date.now() / 1000) * 1000;
    const { body } = await client.post('format/get', { include: ['entity'], parameters: { format: 'pdf' } });
    const createdAt = new Date(`${String(body.entity?.['created_at']).replace(' ', 'T')}Z`);
    expect(createdAt.getTime()).toBeGreaterThanOrEqual(before);
  });

  it('in mode async warns if include lacks the entity, which holds the ID', async () => {
    const connector = await client.upload('report.md', '# Later');
    const { warning } = await client.post('convert/file', { connector, mode: 'async', parameters: { output: 'html' } });
    expect(warning['ENTITY_NOT_INCLUDED']).toContain('include: ["entity", "result"]');
  });
});

describe('formats', () => {
  it('are read as the variant that input names', async () => {
    const { bytes } = await client.convertToBytes({ name: 'a.txt', data: '# a' }, 'html', { input: 'txt-markdown' });
    expect(bytes.toString('utf8')).toContain('<h1');
  });

  it('are listed by direction, and by compatibility with a format', async () => {
    const list = async (sublist: string, format: string) => {
      const { output } = await client.post('convert/formats', { parameters: { sublist, format } });
      return output.formats?.map((each) => each.format);
    };
    expect(await list('inputs', 'webp')).toEqual(['avif', 'gif', 'jpg', 'png', 'svg', 'tiff', 'webp', 'pdf']);
    const outputs = await list('outputs', 'csv');
    expect(outputs).toEqual(expect.arrayContaining(['pdf', 'docx', 'md', 'html']));
    expect(outputs).not.toContain('png');
  });

  it('are found by name, alias and variant; a connector is ignored', async () => {
    const get = async (format: string, more = {}) =>
      (await client.post('format/get', { parameters: { format }, ...more })).output;
    const found = await Promise.all(['jpeg', 'JPG', 'tif', 'htm', 'markdown-gfm', 'text'].map((name) => get(name)));
    expect(found.map(({ format }) => format)).toEqual(['jpg', 'jpg', 'tiff', 'html', 'md-gfm', 'txt']);
    const gfm = { format: 'md-gfm', extension: 'md', type: 'gfm', name: 'Markdown (GitHub)' };
    expect(await get('md-gfm', { connector: unknownConnector })).toMatchObject(gfm);
  });

  it('form pairs that convert in one or both directions', async () => {
    const graph = async (input: string, output: string) =>
      (await client.post('convert/graph', { parameters: { input, output } })).output;
    expect(await graph('markdown', 'docx')).toEqual({ is_match: true, is_reversable: true });
    expect(await graph('svg', 'png')).toEqual({ is_match: true, is_reversable: false });
    expect(await graph('pdf', 'md')).toEqual({ is_match: false, is_reversable: true });
  });
});
