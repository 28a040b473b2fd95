import { createApp, startTestService, TestClient, tinyPng, monitoredResultSchema } from '../support';

/** What the service makes of requests about tasks: mode async, task/response, connectors, formats. */

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

describe('mode async', () => {
  it('answers at once with status running and the keys of a result, all empty, and completes later', async () => {
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
    expect(accepted.body.result).toEqual({ output: {}, error: {}, warning: {} });
    const id = accepted.body.entity?.id ?? '';
    const { entity, result } = await client.waitForTask(id);
    expect(entity.id).toBe(id);
    expect(result.output).toMatchObject({ connector: id, status: 'successful' });
  });

  it('gives null for the monitored result until the task is completed', async () => {
    const connector = await client.upload('report.md', 'Words. '.repeat(3000));
    const parameters = { output: 'docx' };
    const accepted = await client.post('convert/file', { connector, mode: 'async', include: ['entity'], parameters });
    const id = accepted.body.entity?.id ?? '';
    const early = await client.post('task/response', { connector: id });
    expect(early.output.entity?.status).toBe('running');
    expect(early.output.result).toBeNull();
    const status = await client.post('convert/status', { connector: id });
    expect(['waiting', 'pending']).toContain(status.output.status);
    const notYet = await client.post('download/url', { connector: id });
    expect([notYet.status, notYet.error.code]).toEqual([404, 'NOT_READY_DEPENDENT_TASK']);
    await client.waitForTask(id);
    expect((await client.post('convert/status', { connector: id })).output.status).toBe('successful');
  });
});

describe('mode async without the entity', () => {
  it('is warned that nothing tells the ID, and what to send', async () => {
    const connector = await client.upload('report.md', '# Later');
    const data = { connector, mode: 'async', parameters: { output: 'html' } };
    const { warning } = await client.post('convert/file', data);
    expect(warning['ENTITY_NOT_INCLUDED']).toContain('include: ["entity", "result"]');
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
      // To the letter: its connector comes from an upload.
      ['convert/file', converted.output.connector],
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
    expect(inputs.output.formats?.map(({ format }) => format)).toEqual([
      'avif',
      'gif',
      'jpg',
      'png',
      'svg',
      'tiff',
      'webp',
      'pdf',
    ]);
    const outputs = await client.post('convert/formats', { parameters: { sublist: 'outputs', format: 'csv' } });
    const names = outputs.output.formats?.map(({ format }) => format);
    expect(names).toEqual(expect.arrayContaining(['pdf', 'docx', 'md', 'html']));
    expect(names).not.toContain('png');
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
    expect(found.map(({ output }) => output['format'])).toEqual(['jpg', 'jpg', 'tiff', 'html', 'md-gfm', 'txt']);
  });

  it('are described with the name that requests use, the name in full and a title', async () => {
    const png = await client.post('format/get', { parameters: { format: 'png' } });
    expect(png.output).toMatchObject({
      format: 'png',
      extension: 'png',
      type: null,
      name: 'Portable Network Graphics',
    });
    const gfm = await client.post('format/get', { parameters: { format: 'md-gfm' } });
    expect(gfm.output).toMatchObject({ format: 'md-gfm', extension: 'md', type: 'gfm', name: 'Markdown (GitHub)' });
  });

  it.each([
    ['format/get', { format: 'nothing' }, 'INVALID_FORMAT'],
    ['format/get', { format: 'p.d.f' }, 'WRONG_FORMAT_STRUCTURE'],
    ['convert/formats', { sublist: 'outputs', format: 'nothing' }, 'INVALID_FORMAT'],
    ['convert/formats', { sublist: 'inputs', format: 'm d' }, 'WRONG_FORMAT_STRUCTURE'],
    ['convert/graph', { input: 'nothing', output: 'pdf' }, 'INVALID_INPUT_FORMAT'],
    ['convert/graph', { input: 'm d', output: 'pdf' }, 'WRONG_INPUT_FORMAT_STRUCTURE'],
    ['convert/graph', { input: 'md', output: 'nothing' }, 'INVALID_OUTPUT_FORMAT'],
    ['convert/graph', { input: 'md', output: 'p.d.f' }, 'WRONG_OUTPUT_FORMAT_STRUCTURE'],
  ])('that are not known to %s (%j) are told at HTTP 200: %s', async (endpoint, parameters, code) => {
    const { status, error } = await client.post(endpoint, { parameters });
    expect([status, error.code]).toEqual([200, code]);
  });

  it.each([
    ['markdown', 'pdf', { is_match: true, is_reversable: false }],
    ['md', 'docx', { is_match: true, is_reversable: true }],
    ['svg', 'png', { is_match: true, is_reversable: false }],
    ['png', 'docx', { is_match: false, is_reversable: false }],
    ['pdf', 'md', { is_match: false, is_reversable: true }],
  ])('form pairs: %s to %s is %j', async (input, output, graph) => {
    const answer = await client.post('convert/graph', { parameters: { input, output } });
    expect([answer.status, answer.output, answer.error]).toEqual([200, graph, {}]);
  });

  it('are told with or without a connector, which plays no role', async () => {
    const requests: [string, Record<string, string>][] = [
      ['format/get', { format: 'png' }],
      ['convert/formats', { sublist: 'inputs' }],
      ['convert/graph', { input: 'png', output: 'jpg' }],
    ];
    for (const [endpoint, parameters] of requests) {
      const without = await client.post(endpoint, { parameters });
      const withOne = await client.post(endpoint, { parameters, connector: unknownConnector });
      expect([withOne.status, withOne.body]).toEqual([200, without.body]);
    }
  });
});
