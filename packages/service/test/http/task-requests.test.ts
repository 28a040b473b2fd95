import { createApp, serviceOfAllTests, TestClient, tinyPng } from '../support';

/** What the service makes of requests about tasks, beyond what the rules of the document say (packages/conformance/src/rules). */

const [own, other] = [createApp('own'), createApp('other')];
const running = serviceOfAllTests({ apps: [own.app, other.app] }, own);
const { client } = running;

const unknownConnector = '00000000-0000-4000-8000-000000000000';

describe('mode async', () => {
  it('answers the keys of a result, all empty, and null for the monitored result until the task is completed', async () => {
    const connector = await client.upload('report.md', 'Words. '.repeat(3000));
    const parameters = { output: 'docx' };
    const include = ['entity', 'result'];
    const accepted = await client.post('convert/file', { connector, mode: 'async', include, parameters });
    expect(accepted.body.result).toEqual({ output: {}, error: {}, warning: {} });
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

it('convert/status takes the connector of a conversion of its own app alone', async () => {
  const uploaded = await new TestClient(client.url, other).upload('dot.png', tinyPng);
  for (const [connector, expected, code] of [
    [unknownConnector, 404, 'NO_CONNECTOR_DEPENDENT_TASK'],
    [uploaded, 404, 'NO_CONNECTOR_DEPENDENT_TASK'],
    [await client.upload('dot.png', tinyPng), 400, 'MISMATCH_DEPENDENT_TASK'],
  ]) {
    const { status, error } = await client.post('convert/status', { connector });
    expect([status, error.code]).toEqual([expected, code]);
  }
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
  });

  it('are described by name, alias and variant', async () => {
    const found = await Promise.all(
      ['jpeg', 'JPG', 'tif', 'htm', 'markdown-gfm', 'text'].map((format) =>
        client.post('format/get', { parameters: { format } }),
      ),
    );
    expect(found.map(({ output }) => output['format'])).toEqual(['jpg', 'jpg', 'tiff', 'html', 'md-gfm', 'txt']);
  });

  it('are described as variants of a format with the name that requests use, and the name in full', async () => {
    const gfm = await client.post('format/get', { parameters: { format: 'md-gfm' } });
    expect(gfm.output).toMatchObject({ format: 'md-gfm', extension: 'md', type: 'gfm', name: 'Markdown (GitHub)' });
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
