import {
  anyTime,
  createApp,
  parseAnswer,
  startTestService,
  TestClient,
  tinyPng,
  tinySvg,
  monitoredResultSchema,
} from './support';

/** What the service makes of requests: authentication, the field `data`, include, states, and errors in the document's shape. */

let running: Awaited<ReturnType<typeof startTestService>>;
let client: TestClient;
const other = createApp('other');

beforeAll(async () => {
  const own = createApp('own');
  running = await startTestService({ apps: [own.app, other.app] }, own);
  client = running.client;
});

afterAll(() => running.stop());

const unknownConnector = '00000000-0000-4000-8000-000000000000';
const emptyError = { output: {}, warning: {} };

describe('paths and methods', () => {
  it('answers other methods on a known path with POST_METHOD_ALLOWED', async () => {
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const response = await fetch(`${client.url}/v1/convert/file?x=1`, { method });
      expect(response.headers.get('allow')).toBe('POST');
      const { status, body, error } = await parseAnswer(response);
      expect([status, error.code]).toEqual([405, 'POST_METHOD_ALLOWED']);
      expect(body.result).toMatchObject(emptyError);
    }
  });

  it('answers an unknown path with NOT_FOUND, whatever the method', async () => {
    for (const method of ['GET', 'POST']) {
      const { status, error } = await parseAnswer(await fetch(`${client.url}/v2/convert/file`, { method }));
      expect([status, error.code]).toEqual([404, 'NOT_FOUND']);
    }
  });
});

describe('authentication', () => {
  it.each([
    [undefined, 'MISSING_AUTHORIZATION_HEADER'],
    ['Basic abc', 'INVALID_AUTHORIZATION_HEADER'],
    ['Bearer', 'INVALID_AUTHORIZATION_HEADER'],
    ['Bearer wrong', 'INVALID_CREDENTIAL'],
  ])('refuses the header %s', async (authorization, code) => {
    const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
    const response = await fetch(`${client.url}/v1/task/response`, { method: 'POST', headers });
    const { status, error } = await parseAnswer(response);
    expect([status, error.code]).toEqual([403, code]);
  });

  it('refuses the App ID of another app', async () => {
    const answer = await client.postField('convert/formats', JSON.stringify({ app: other.app.appId }));
    // The rest of the data is looked at first, so the request has to be complete.
    expect(answer.error.code).toBe('MISSING_REQUIRED_DATA_KEY');
    const data = { app: other.app.appId, parameters: { sublist: 'inputs' } };
    const { status, error } = await client.postField('convert/formats', JSON.stringify(data));
    expect([status, error.code]).toEqual([403, 'INVALID_CREDENTIAL']);
  });

  it('never logs a token', async () => {
    await client.post('convert/formats', { parameters: { sublist: 'inputs' } });
    expect(running.logged.join('\n')).not.toContain(client.token);
  });
});

describe('the field data', () => {
  it('is accepted urlencoded and as multipart', async () => {
    const data = { app: client.app.appId, parameters: { format: 'docx' } };
    const urlencoded = await client.postField('format/get', JSON.stringify(data));
    const multipart = await client.post('format/get', { parameters: { format: 'docx' } });
    expect(urlencoded.body).toEqual(multipart.body);
    expect(urlencoded.output).toMatchObject({ format: 'docx', extension: 'docx', type: null });
  });

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
    ['{"app": ', 'INVALID_FIELD'],
    ['', 'INVALID_FIELD'],
    ['[]', 'WRONG_TYPE_FIELD'],
    ['"text"', 'WRONG_TYPE_FIELD'],
    ['null', 'WRONG_TYPE_FIELD'],
  ])('must hold a JSON object, not %s', async (field, code) => {
    const { status, error } = await client.postField('task/response', field);
    expect([status, error.code]).toEqual([400, code]);
  });

  it('is refused when it is larger than a megabyte', async () => {
    const { status, error } = await client.postField('task/response', JSON.stringify({ x: 'y'.repeat(2_000_000) }));
    expect([status, error.code]).toEqual([400, 'INVALID_FIELD']);
    const multipart = await client.post('task/response', { x: 'y'.repeat(2_000_000) });
    expect([multipart.status, multipart.error.code]).toEqual([400, 'INVALID_FIELD']);
  });

  it.each([
    [{ app: undefined }, 'MISSING_REQUIRED_DATA_KEY', 'app'],
    [{ app: 7 }, 'WRONG_TYPE_DATA_KEY', 'app'],
    [{ app: 'mine' }, 'WRONG_VALUE_DATA_KEY', 'app'],
    [{ connector: undefined }, 'MISSING_REQUIRED_DATA_KEY', 'connector'],
    [{ connector: 7 }, 'WRONG_TYPE_DATA_KEY', 'connector'],
    [{ connector: '../../etc/passwd' }, 'WRONG_VALUE_DATA_KEY', 'connector'],
    [{ connector: null }, 'WRONG_TYPE_DATA_KEY', 'connector'],
    [{ include: 'result' }, 'WRONG_TYPE_DATA_KEY', 'include'],
    [{ include: ['everything'] }, 'WRONG_VALUE_DATA_KEY', 'include'],
    [{ mode: 'later' }, 'WRONG_VALUE_DATA_KEY', 'mode'],
    [{ callback: 7 }, 'WRONG_TYPE_DATA_KEY', 'callback'],
    [{ parameters: undefined }, 'MISSING_REQUIRED_DATA_KEY', 'parameters'],
    [{ parameters: [] }, 'WRONG_TYPE_DATA_KEY', 'parameters'],
    [{ parameters: {} }, 'MISSING_REQUIRED_PARAMETER', 'output'],
    [{ parameters: { output: 7 } }, 'WRONG_TYPE_PARAMETER', 'output'],
    [{ parameters: { output: '' } }, 'WRONG_VALUE_PARAMETER', 'output'],
    [{ parameters: { output: 'pdf', input: 7 } }, 'WRONG_TYPE_PARAMETER', 'input'],
    [{ parameters: { output: 'pdf', quality: 9 } }, 'INVALID_PARAMETER', 'quality'],
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

  it('takes no connector for an upload, which starts a job, and no parameter where there is none', async () => {
    const file = { name: 'dot.png', data: tinyPng };
    const linked = await client.post('upload/file', { connector: unknownConnector }, file);
    expect([linked.status, linked.error.code, linked.error.message]).toEqual([
      400,
      'INVALID_DATA_KEY',
      'The data key connector is invalid.',
    ]);
    const { error } = await client.post('download/url', { connector: unknownConnector, parameters: { inline: true } });
    expect(error).toEqual({ code: 'INVALID_PARAMETER', message: 'The parameter inline is invalid.' });
    expect((await client.post('upload/file', { parameters: {} }, file)).error).toEqual({});
  });

  it.each([
    [
      'a field that no endpoint has',
      'task/response',
      [
        ['data', '{}'],
        ['extra', '1'],
      ],
      'INVALID_FIELD',
      'extra',
    ],
    [
      'a file where none belongs',
      'task/response',
      [
        ['data', '{}'],
        ['file', new Blob(['x'])],
      ],
      'INVALID_FIELD',
      'file',
    ],
    ['data as a file', 'task/response', [['data', new Blob(['{}'])]], 'WRONG_TYPE_FIELD', 'data'],
    [
      'a file as text',
      'upload/file',
      [
        ['data', '{}'],
        ['file', 'text'],
      ],
      'WRONG_TYPE_FIELD',
      'file',
    ],
    [
      'another field in an upload',
      'upload/file',
      [
        ['data', '{}'],
        ['extra', '1'],
      ],
      'INVALID_FIELD',
      'extra',
    ],
    [
      'another file in an upload',
      'upload/file',
      [
        ['data', '{}'],
        ['image', new Blob(['x'])],
      ],
      'INVALID_FIELD',
      'image',
    ],
    ['nothing', 'task/response', [], 'MISSING_REQUIRED_FIELD', 'data'],
  ] satisfies [string, string, [string, string | Blob][], string, string][])(
    'stands in a form that must not hold %s',
    async (_title, endpoint, fields, code, name) => {
      const form = new FormData();
      for (const [field, value] of fields) form.set(field, value);
      const { status, error } = await parseAnswer(await client.send(endpoint, { body: form }));
      expect([status, error.code]).toEqual([400, code]);
      expect(error.message).toContain(` ${name} `);
    },
  );

  it.each([
    ['not a url', 'INVALID_CALLBACK'],
    ['ftp://example.com/', 'INVALID_CALLBACK'],
    ['https://example.com/done', 'UNVERIFIED_DOMAIN_CALLBACK'],
  ])('must not name the callback %s', async (callback, code) => {
    const data = { connector: unknownConnector, callback, parameters: { output: 'pdf' } };
    const { status, error } = await client.post('convert/file', data);
    expect([status, error.code]).toEqual([400, code]);
  });
});

describe('the answer', () => {
  it('holds only the result by default, and exactly the items of include otherwise', async () => {
    const connector = await client.upload('dot.png', tinyPng);
    const plain = await client.post('task/response', { connector });
    expect(Object.keys(plain.body)).toEqual(['result']);
    const all = await client.post('task/response', { connector, include: ['result', 'payload', 'entity'] });
    expect(Object.keys(all.body)).toEqual(['entity', 'payload', 'result']);
    const none = await client.post('task/response', { connector, include: [] });
    expect(none.body).toEqual({});
  });

  it('gives back the payload exactly as it was sent, character by character', async () => {
    const sent = `{ "parameters":{"sublist":"inp\\u0075ts"},\n "include":["payload", "payload"],  "\\u0061pp":"${client.app.appId}"}`;
    const response = await client.send('convert/formats', { body: new URLSearchParams({ data: sent }) });
    expect(await response.text()).toBe(`{"payload":${sent}}`);
  });

  it('describes the task in the entity', async () => {
    const before = new Date(Math.floor(Date.now() / 1000) * 1000);
    const { body, output } = await client.convert({ name: 'logo.svg', data: tinySvg }, 'png');
    expect(body.entity).toEqual({
      id: output.connector,
      type: 'task',
      endpoint: 'v1/convert/file',
      status: 'completed',
      created_at: anyTime,
      started_at: anyTime,
      completed_at: anyTime,
    });
    const createdAt = new Date(`${String(body.entity?.['created_at']).replace(' ', 'T')}Z`);
    expect(createdAt.getTime()).toBeGreaterThanOrEqual(before.getTime());
    expect(Object.keys(output)).toEqual(['connector', 'status', 'duration']);
    expect(output.status).toBe('successful');
    expect(Number.isInteger(output.duration)).toBe(true);
  });
});

describe('mode async', () => {
  it('answers at once with status running and an empty result, and completes later', async () => {
    const connector = await client.upload('report.md', '# Later');
    const include = ['entity', 'result'];
    const accepted = await client.post('convert/file', {
      connector,
      mode: 'async',
      include,
      parameters: { output: 'html' },
    });
    expect(accepted.body.entity?.status).toBe('running');
    expect(accepted.body.entity?.['completed_at']).toBeNull();
    expect(accepted.body.result).toEqual({});
    const id = accepted.body.entity?.id ?? '';
    const { entity, result } = await client.waitForTask(id);
    expect(entity.id).toBe(id);
    expect(result.output).toMatchObject({ connector: id, status: 'successful' });
  });

  it('keeps the monitored result empty until the task is completed', async () => {
    const connector = await client.upload('report.md', 'Words. '.repeat(3000));
    const parameters = { output: 'docx' };
    const accepted = await client.post('convert/file', { connector, mode: 'async', include: ['entity'], parameters });
    const id = accepted.body.entity?.id ?? '';
    const early = await client.post('task/response', { connector: id });
    expect(early.output.entity?.status).toBe('running');
    expect(early.output.result).toEqual({});
    const status = await client.post('convert/status', { connector: id });
    expect(['waiting', 'pending']).toContain(status.output.status);
    const notYet = await client.post('download/url', { connector: id });
    expect([notYet.status, notYet.error.code]).toEqual([404, 'NOT_READY_DEPENDENT_TASK']);
    const chained = await client.post('convert/file', { connector: id, parameters: { output: 'pdf' } });
    expect([chained.status, chained.error.code]).toEqual([404, 'NOT_READY_DEPENDENT_TASK']);
    await client.waitForTask(id);
    expect((await client.post('convert/status', { connector: id })).output.status).toBe('successful');
  });
});

describe('task/response', () => {
  it('selects from the monitored task by parameters.include', async () => {
    const connector = await client.upload('dot.png', tinyPng);
    const all = await client.post('task/response', { connector });
    expect(Object.keys(all.output)).toEqual(['entity', 'payload', 'result']);
    expect(all.output.payload).toEqual({ app: client.app.appId });
    const one = await client.post('task/response', { connector, parameters: { include: ['entity'] } });
    expect(Object.keys(one.output)).toEqual(['entity']);
  });

  it('serves clients that put include at the data level: the entity is still in the output', async () => {
    const connector = await client.upload('dot.png', tinyPng);
    const { body, output } = await client.post('task/response', { connector, include: ['entity', 'result'] });
    expect(body.entity?.['endpoint']).toBe('v1/task/response');
    expect(body.entity?.id).not.toBe(connector);
    expect(output.entity?.id).toBe(connector);
  });

  it('gives the error of a failed task inside its result, at HTTP 200', async () => {
    const failed = await client.convert({ name: 'cut.png', data: tinyPng.subarray(0, 40) }, 'webp');
    const { status, error, output } = await client.post('task/response', { connector: failed.body.entity?.id });
    expect([status, error]).toEqual([200, {}]);
    expect(output.entity?.status).toBe('completed');
    expect(monitoredResultSchema.parse(output.result).error?.code).toBe('FAILED_CONVERT');
    expect((await client.post('convert/status', { connector: output.entity?.id })).output.status).toBe('failed');
    const chained = await client.post('download/url', { connector: output.entity?.id });
    expect([chained.status, chained.error.code]).toEqual([404, 'NOT_READY_DEPENDENT_TASK']);
  });

  it('rejects wrong values in parameters.include', async () => {
    const { error } = await client.post('task/response', {
      connector: unknownConnector,
      parameters: { include: ['x'] },
    });
    expect(error.code).toBe('WRONG_VALUE_PARAMETER');
  });
});

describe('connectors', () => {
  it.each(['convert/file', 'task/response', 'download/url', 'download/url/get', 'convert/status'])(
    'of nobody and of other apps are the same to %s',
    async (endpoint) => {
      const stranger = new TestClient(client.url, other);
      const uploaded = await stranger.upload('dot.png', tinyPng);
      const parameters = endpoint === 'convert/file' ? { output: 'webp' } : {};
      for (const connector of [unknownConnector, uploaded]) {
        const { status, error } = await client.post(endpoint, { connector, parameters });
        expect([status, error.code]).toEqual([404, 'NO_CONNECTOR_DEPENDENT_TASK']);
      }
    },
  );

  it('of the wrong kind of task are refused', async () => {
    const upload = await client.upload('dot.png', tinyPng);
    const converted = await client.post('convert/file', { connector: upload, parameters: { output: 'webp' } });
    const link = await client.post('download/url', { connector: converted.output.connector });
    const wrong: [string, string | undefined][] = [
      ['download/url', upload],
      ['convert/status', upload],
      ['download/url/get', converted.output.connector],
      ['convert/file', link.output.connector],
    ];
    for (const [endpoint, connector] of wrong) {
      const parameters = endpoint === 'convert/file' ? { output: 'png' } : {};
      const { status, error } = await client.post(endpoint, { connector, parameters });
      expect([endpoint, status, error.code]).toEqual([endpoint, 400, 'MISMATCH_DEPENDENT_TASK']);
    }
  });
});

describe('formats', () => {
  it.each([
    [{ output: 'p.d.f' }, 'WRONG_OUTPUT_FORMAT_STRUCTURE', 'p.d.f'],
    [{ output: 'nothing' }, 'INVALID_OUTPUT_FORMAT', 'nothing'],
    [{ output: 'png' }, 'NO_CONVERTER_INPUT_TO_OUTPUT', 'md to png'],
    [{ output: 'csv' }, 'NO_CONVERTER_INPUT_TO_OUTPUT', 'md to csv'],
    [{ output: 'pdf', input: 'm d' }, 'WRONG_INPUT_FORMAT_STRUCTURE', 'm d'],
    [{ output: 'pdf', input: 'nothing' }, 'INVALID_INPUT_FORMAT', 'nothing'],
    [{ output: 'pdf', input: 'docx' }, 'NOT_MATCH_EXTENSION_AND_INPUT', 'docx'],
  ])('%j is answered at once with %s', async (parameters, code, subject) => {
    const connector = await client.upload('a.md', '# a');
    const { status, error } = await client.post('convert/file', { connector, mode: 'async', parameters });
    expect([status, error.code]).toEqual([200, code]);
    expect(error.message).toContain(subject);
  });

  it('reads the file as the variant that input names', async () => {
    const { bytes } = await client.convertToBytes({ name: 'a.txt', data: '# a' }, 'html', { input: 'txt-markdown' });
    expect(bytes.toString('utf8')).toContain('<h1');
  });

  it('lists the formats of each end, and those that go with a format', async () => {
    const inputs = await client.post('convert/formats', { parameters: { sublist: 'inputs', format: 'webp' } });
    expect(inputs.output.formats?.map(({ name }) => name)).toEqual([
      'avif',
      'gif',
      'jpg',
      'png',
      'svg',
      'tiff',
      'webp',
    ]);
    const outputs = await client.post('convert/formats', { parameters: { sublist: 'outputs', format: 'csv' } });
    const names = outputs.output.formats?.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['pdf', 'docx', 'md', 'html']));
    expect(names).not.toContain('png');
    expect(names).not.toContain('csv');
    expect((await client.post('convert/formats', { parameters: {} })).error.code).toBe('MISSING_REQUIRED_PARAMETER');
    const wrong = await client.post('convert/formats', { parameters: { sublist: 'both' } });
    expect(wrong.error.code).toBe('WRONG_VALUE_PARAMETER');
  });

  it('are described by name, alias and variant', async () => {
    const found = await Promise.all(
      ['jpeg', 'JPG', 'tif', 'htm', 'markdown-gfm', 'text'].map((format) =>
        client.post('format/get', { parameters: { format } }),
      ),
    );
    expect(found.map(({ output }) => output.name)).toEqual(['jpg', 'jpg', 'tiff', 'html', 'md-gfm', 'txt']);
    const unknown = await client.post('format/get', { parameters: { format: 'nothing' } });
    expect(unknown.error.code).toBe('WRONG_VALUE_PARAMETER');
  });

  it('form pairs of which convert/graph says whether they convert', async () => {
    const yes = await client.post('convert/graph', { parameters: { input: 'markdown', output: 'pdf' } });
    expect(yes.output).toEqual({ input: 'md', output: 'pdf', convertible: true });
    const no = await client.post('convert/graph', { parameters: { input: 'png', output: 'docx' } });
    expect(no.error.code).toBe('NO_CONVERTER_INPUT_TO_OUTPUT');
  });
});
